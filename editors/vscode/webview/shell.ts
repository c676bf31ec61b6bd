/** The page that a webview begins with. Runs in the extension host; everything in it is inert but the one script. */
export interface Shell {
  title: string;
  /** webview.cspSource */
  source: string;
  nonce: string;
  script: string;
  style: string;
}

export function shell(s: Shell): string {
  const policy = [
    "default-src 'none'",
    `style-src ${s.source} 'nonce-${s.nonce}'`,
    `script-src 'nonce-${s.nonce}'`,
    `img-src ${s.source} data: blob:`,
    `font-src ${s.source}`,
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${s.title}</title>
<link rel="stylesheet" href="${s.style}">
</head>
<body>
<main id="root"></main>
<script nonce="${s.nonce}" src="${s.script}"></script>
</body>
</html>`;
}
