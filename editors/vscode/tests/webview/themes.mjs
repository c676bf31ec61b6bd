// The theme variables that VS Code gives a webview, as far as the views use them: Dark Modern, Light Modern, and High Contrast.
const shared = { "font-family": '"DejaVu Sans", sans-serif', "font-size": "13px", "editor-font-family": '"DejaVu Sans Mono", monospace', "editor-font-size": "12px" };

const dark = {
  foreground: "#cccccc", descriptionForeground: "#9d9d9d", errorForeground: "#f85149", "icon-foreground": "#cccccc", focusBorder: "#0078d4", disabledForeground: "#8a8a8a",
  "editor-background": "#1f1f1f", "sideBar-background": "#181818", "sideBarSectionHeader-border": "#2b2b2b", "editorWidget-background": "#202020", "editorWidget-border": "#454545",
  "widget-border": "#313131", "widget-shadow": "rgba(0,0,0,.36)", "textLink-foreground": "#4daafc", "textLink-activeForeground": "#4daafc", "textCodeBlock-background": "#2b2b2b",
  "textPreformat-foreground": "#d0d0d0", "textPreformat-background": "#3c3c3c", "textBlockQuote-background": "#2b2b2b", "textBlockQuote-border": "#616161",
  "input-foreground": "#cccccc", "input-background": "#313131", "input-border": "#3c3c3c", "input-placeholderForeground": "#989898",
  "button-foreground": "#ffffff", "button-background": "#0078d4", "button-hoverBackground": "#026ec1", "button-border": "rgba(255,255,255,.07)",
  "button-secondaryForeground": "#cccccc", "button-secondaryBackground": "#313131", "button-secondaryHoverBackground": "#3c3c3c", "toolbar-hoverBackground": "rgba(90,93,94,.31)",
  "list-hoverBackground": "#2a2d2e", "list-inactiveSelectionBackground": "#37373d", "list-activeSelectionBackground": "#04395e", "list-activeSelectionForeground": "#ffffff", "list-focusOutline": "#0078d4",
  "menu-foreground": "#cccccc", "menu-background": "#1f1f1f", "menu-border": "#454545", "menu-selectionForeground": "#ffffff", "menu-selectionBackground": "#0078d4",
  "editorSuggestWidget-foreground": "#cccccc", "editorSuggestWidget-background": "#202020", "editorSuggestWidget-border": "#454545", "editorSuggestWidget-selectedForeground": "#ffffff", "editorSuggestWidget-selectedBackground": "#04395e",
  "keybindingLabel-foreground": "#cccccc", "keybindingLabel-background": "rgba(128,128,128,.17)", "keybindingLabel-border": "rgba(51,51,51,.6)", "badge-foreground": "#f8f8f8", "badge-background": "#616161",
  "editorWarning-foreground": "#cca700", "progressBar-background": "#0078d4", "testing-iconPassed": "#73c991",
  "charts-blue": "#3794ff", "charts-orange": "#d18616", "charts-green": "#89d185", "charts-purple": "#b180d7", "charts-red": "#f14c4c", "charts-yellow": "#cca700",
  "terminal-ansiMagenta": "#bc3fbc", "terminal-ansiCyan": "#11a8cd", "terminal-ansiBrightBlack": "#666666", "terminal-ansiBrightMagenta": "#d670d6",
  "debugTokenExpression-name": "#c586c0", "debugTokenExpression-string": "#ce9178", "debugTokenExpression-number": "#b5cea8", "debugTokenExpression-boolean": "#4e94ce",
  "symbolIcon-functionForeground": "#b180d7", "symbolIcon-classForeground": "#ee9d28", "symbolIcon-variableForeground": "#75beff",
  "gitDecoration-addedResourceForeground": "#81b88b", "gitDecoration-deletedResourceForeground": "#c74e39",
  "diffEditor-insertedTextBackground": "rgba(156,204,44,.2)", "diffEditor-removedTextBackground": "rgba(255,0,0,.2)",
};
const light = {
  foreground: "#3b3b3b", descriptionForeground: "#5f5f5f", errorForeground: "#c3343b", "icon-foreground": "#3b3b3b", focusBorder: "#005fb8", disabledForeground: "#8a8a8a",
  "editor-background": "#ffffff", "sideBar-background": "#f8f8f8", "sideBarSectionHeader-border": "#e5e5e5", "editorWidget-background": "#f8f8f8", "editorWidget-border": "#c8c8c8",
  "widget-border": "#e5e5e5", "widget-shadow": "rgba(0,0,0,.16)", "textLink-foreground": "#005fb8", "textLink-activeForeground": "#005fb8", "textCodeBlock-background": "#f0f0f0",
  "textPreformat-foreground": "#3b3b3b", "textPreformat-background": "rgba(0,0,0,.12)", "textBlockQuote-background": "#f0f0f0", "textBlockQuote-border": "#c8c8c8",
  "input-foreground": "#3b3b3b", "input-background": "#ffffff", "input-border": "#cecece", "input-placeholderForeground": "#767676",
  "button-foreground": "#ffffff", "button-background": "#005fb8", "button-hoverBackground": "#0258a8", "button-border": "rgba(0,0,0,.1)",
  "button-secondaryForeground": "#3b3b3b", "button-secondaryBackground": "#e5e5e5", "button-secondaryHoverBackground": "#cccccc", "toolbar-hoverBackground": "rgba(184,184,184,.31)",
  "list-hoverBackground": "#f2f2f2", "list-inactiveSelectionBackground": "#e4e6f1", "list-activeSelectionBackground": "#e8e8e8", "list-activeSelectionForeground": "#000000", "list-focusOutline": "#005fb8",
  "menu-foreground": "#3b3b3b", "menu-background": "#ffffff", "menu-border": "#cecece", "menu-selectionForeground": "#ffffff", "menu-selectionBackground": "#005fb8",
  "editorSuggestWidget-foreground": "#3b3b3b", "editorSuggestWidget-background": "#f8f8f8", "editorSuggestWidget-border": "#c8c8c8", "editorSuggestWidget-selectedForeground": "#000000", "editorSuggestWidget-selectedBackground": "#e8e8e8",
  "keybindingLabel-foreground": "#3b3b3b", "keybindingLabel-background": "rgba(221,221,221,.4)", "keybindingLabel-border": "rgba(204,204,204,.4)", "badge-foreground": "#3b3b3b", "badge-background": "#cccccc",
  "editorWarning-foreground": "#bf8803", "progressBar-background": "#005fb8", "testing-iconPassed": "#388a34",
  "charts-blue": "#1a85ff", "charts-orange": "#d18616", "charts-green": "#388a34", "charts-purple": "#652d90", "charts-red": "#e51400", "charts-yellow": "#bf8803",
  "terminal-ansiMagenta": "#bc05bc", "terminal-ansiCyan": "#0598bc", "terminal-ansiBrightBlack": "#666666", "terminal-ansiBrightMagenta": "#bc05bc",
  "debugTokenExpression-name": "#9b46b0", "debugTokenExpression-string": "#a31515", "debugTokenExpression-number": "#098658", "debugTokenExpression-boolean": "#0000ff",
  "symbolIcon-functionForeground": "#652d90", "symbolIcon-classForeground": "#d67e00", "symbolIcon-variableForeground": "#007acc",
  "gitDecoration-addedResourceForeground": "#587c0c", "gitDecoration-deletedResourceForeground": "#ad0707",
  "diffEditor-insertedTextBackground": "rgba(156,204,44,.25)", "diffEditor-removedTextBackground": "rgba(255,0,0,.2)",
};
// A high-contrast theme leaves most backgrounds and borders out and has contrastBorder instead.
const contrast = {
  foreground: "#ffffff", descriptionForeground: "rgba(255,255,255,.7)", errorForeground: "#f48771", "icon-foreground": "#ffffff", focusBorder: "#f38518", disabledForeground: "#a5a5a5",
  contrastBorder: "#6fc3df", contrastActiveBorder: "#f38518", "editor-background": "#000000", "sideBar-background": "#000000", "editorWidget-background": "#0c141f", "editorWidget-border": "#6fc3df",
  "textLink-foreground": "#21a6ff", "textLink-activeForeground": "#21a6ff", "textCodeBlock-background": "#000000", "textPreformat-foreground": "#000000", "textPreformat-background": "#ffffff",
  "textBlockQuote-border": "#ffffff", "input-foreground": "#ffffff", "input-background": "#000000", "input-border": "#6fc3df", "input-placeholderForeground": "rgba(255,255,255,.7)",
  "button-foreground": "#ffffff", "button-background": "#000000", "button-border": "#6fc3df", "button-secondaryForeground": "#ffffff", "button-secondaryBackground": "#000000",
  "menu-foreground": "#ffffff", "menu-background": "#000000", "menu-border": "#6fc3df", "menu-selectionForeground": "#ffffff", "list-focusOutline": "#f38518",
  "editorSuggestWidget-foreground": "#ffffff", "editorSuggestWidget-background": "#0c141f", "editorSuggestWidget-border": "#6fc3df", "keybindingLabel-foreground": "#ffffff", "badge-foreground": "#ffffff", "badge-background": "#000000",
  "editorWarning-foreground": "#ffd370", "progressBar-background": "#6fc3df", "testing-iconPassed": "#73c991",
  "charts-blue": "#3794ff", "charts-orange": "#d18616", "charts-green": "#89d185", "charts-purple": "#b180d7", "charts-red": "#f48771", "charts-yellow": "#cca700",
  "terminal-ansiMagenta": "#cd00cd", "terminal-ansiCyan": "#00cdcd", "terminal-ansiBrightBlack": "#7f7f7f", "terminal-ansiBrightMagenta": "#ff00ff",
  "debugTokenExpression-name": "#ffffff", "debugTokenExpression-string": "#f48771", "debugTokenExpression-number": "#89d185", "debugTokenExpression-boolean": "#75bdfe",
  "symbolIcon-functionForeground": "#b180d7", "symbolIcon-classForeground": "#ee9d28", "symbolIcon-variableForeground": "#75beff",
};

export const themes = { dark: { ...shared, ...dark }, light: { ...shared, ...light }, contrast: { ...shared, ...contrast } };
