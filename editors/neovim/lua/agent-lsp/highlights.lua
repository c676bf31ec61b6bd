--- Highlight groups. All come from the colour scheme; a theme or setup may set
--- any of them.
local config = require("agent-lsp.config")

local M = {}

local LINKS = {
  AgentLspRoot = "Title",
  AgentLspText = "Normal",
  AgentLspDim = "Comment",
  AgentLspReasoning = "Comment",
  AgentLspGlyph = "Special",
  AgentLspFold = "Comment",
  AgentLspTool = "Function",
  AgentLspTarget = "Normal",
  AgentLspNumber = "Comment",
  AgentLspSteer = "DiagnosticInfo",
  AgentLspRunning = "DiagnosticInfo",
  AgentLspPaused = "DiagnosticWarn",
  AgentLspWait = "DiagnosticWarn",
  AgentLspError = "DiagnosticError",
  AgentLspQuote = "Comment",
  AgentLspKey = "SpecialKey",
  AgentLspChip = "Label",
  AgentLspHint = "Comment",
  AgentLspHeading = "Title",
  AgentLspCode = "String",
  AgentLspCodeBlock = "String",
  AgentLspPath = "Underlined",
  AgentLspLink = "Underlined",
  AgentLspBullet = "Special",
  AgentLspConflictSign = "DiagnosticWarn",
  AgentLspIn = "DiagnosticOk",
  AgentLspOut = "Comment",
  AgentLspBarFree = "NonText",
  AgentLspSection1 = "Function",
  AgentLspSection2 = "String",
  AgentLspSection3 = "Identifier",
  AgentLspSection4 = "Special",
  AgentLspSection5 = "DiagnosticInfo",
  AgentLspSection6 = "DiagnosticWarn",
  AgentLspSection7 = "DiagnosticHint",
  AgentLspSection8 = "DiagnosticOk",
  AgentLspSection9 = "Constant",
  AgentLspSection10 = "Type",
}

---@param name string
---@return vim.api.keyset.get_hl_info
local function look(name)
  return vim.api.nvim_get_hl(0, { name = name, link = false })
end

--- A colour mixed from two, for backgrounds that a theme doesn't have.
local function mix(over, under, share)
  local out = 0
  for shift = 16, 0, -8 do
    local a = math.floor(over / 2 ^ shift) % 256
    local b = math.floor(under / 2 ^ shift) % 256
    out = out * 256 + math.floor(a * share + b * (1 - share) + 0.5)
  end
  return out
end

--- A calm background for changed lines, from the theme's colour for them. Only
--- the background: the text keeps its syntax colours.
local function background(diff, signal)
  local normal = look("Normal")
  local under = normal.bg or (vim.o.background == "dark" and 0x14161b or 0xffffff)
  local hue = look(signal).fg or look(diff).fg or look(diff).bg
  return hue and mix(hue, under, 0.16) or look(diff).bg, hue
end

function M.apply()
  local function set(name, spec)
    vim.api.nvim_set_hl(0, name, vim.tbl_extend("keep", config.values.highlights[name] or spec, { default = true }))
  end
  for name, link in pairs(LINKS) do
    set(name, { link = link })
  end
  set("AgentLspBold", { bold = true })
  set("AgentLspItalic", { italic = true })
  local added, green = background("DiffAdd", "Added")
  local deleted, red = background("DiffDelete", "Removed")
  set("AgentLspAdd", { bg = added, ctermbg = look("DiffAdd").ctermbg })
  set("AgentLspDelete", { bg = deleted, fg = mix(red or 0xc0c0c0, look("Normal").fg or 0xc0c0c0, 0.5), ctermfg = 1 })
  set("AgentLspAddNr", { fg = look("LineNr").fg, bg = added, ctermfg = look("LineNr").ctermfg })
  set("AgentLspDeleteNr", { fg = look("LineNr").fg, bg = deleted, ctermfg = look("LineNr").ctermfg })
  set("AgentLspAddSign", { fg = green, bg = added, bold = true, ctermfg = 2 })
  set("AgentLspDeleteSign", { fg = red, bg = deleted, bold = true, ctermfg = 1 })
end

function M.setup()
  M.apply()
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = vim.api.nvim_create_augroup("agent_lsp_highlights", {}),
    callback = M.apply,
  })
end

return M
