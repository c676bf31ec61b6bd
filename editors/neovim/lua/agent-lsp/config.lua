--- What the person may set, and what holds until they do.
local M = {}

---@class agent_lsp.Config
---@field cmd? string|string[] the server; default: `agent-lsp` on PATH, or bin/agent-lsp of the checkout this plugin is in
---@field model? string for new sessions, as :AgentModel names it
---@field settings? table further server settings, like those of .agent-lsp.toml
---@field autostart? boolean start with the first file of a project, so that what was pending is there again
---@field root_markers? string[][] what marks a project's top folder: the first list that is found decides
---@field enter? "steer"|"followUp" what Enter sends while a run is going on; Alt+Enter sends the other
---@field ascii? boolean draw without Unicode signs
---@field panel? { side: "left"|"right", width: number, prompt_height: integer } width: cells, or a share below 1
---@field keys? table<string, string|false> false leaves a key unset
---@field highlights? table<string, table> overrides, as nvim_set_hl takes them
M.defaults = {
  cmd = nil,
  model = nil,
  settings = {},
  autostart = true,
  root_markers = { { ".agent-lsp.toml" }, { ".git", ".hg" }, { "go.work", "go.mod", "package.json", "Cargo.toml", "pyproject.toml" } },
  enter = "steer",
  ascii = false,
  panel = { side = "right", width = 0.42, prompt_height = 4 },
  keys = {
    -- in files, while hunks of theirs wait for a decision
    next = "]x",
    prev = "[x",
    accept = "<leader>ay",
    reject = "<leader>an",
    accept_file = "<leader>aY",
    reject_file = "<leader>aN",
    -- in the prompt
    send = "<CR>",
    send_other = "<M-CR>",
    newline = "<C-j>",
    older = "<C-p>",
    newer = "<C-n>",
  },
  highlights = {},
}

---@type agent_lsp.Config
M.values = vim.deepcopy(M.defaults)

--- What setup was told to set, so that a chosen key may replace one of the person's own.
---@type agent_lsp.Config
M.given = {}

--- Names of settings that setup doesn't know, for :checkhealth.
---@type string[]
M.unknown = {}

---@param given agent_lsp.Config?
function M.set(given)
  M.given = given or {}
  M.values = vim.tbl_deep_extend("force", vim.deepcopy(M.defaults), M.given)
  M.unknown = {}
  local known = { cmd = true, model = true }
  for name in pairs(M.defaults) do
    known[name] = true
  end
  for name in pairs(M.given) do
    if not known[name] then
      M.unknown[#M.unknown + 1] = name
    end
  end
  for name in pairs(M.given.keys or {}) do
    if M.defaults.keys[name] == nil then
      M.unknown[#M.unknown + 1] = "keys." .. name
    end
  end
  table.sort(M.unknown)
end

--- The server's command line, and where it comes from; nil when there is none.
---@return string[]? cmd, string from
function M.command()
  local cmd = M.values.cmd
  if type(cmd) == "string" then
    cmd = { cmd }
  end
  if cmd then
    local copy = vim.list_extend({}, cmd)
    copy[1] = vim.fn.expand(copy[1])
    if #copy == 1 then
      copy[2] = "serve"
    end
    return vim.fn.executable(copy[1]) == 1 and copy or nil, "setup{cmd = " .. vim.inspect(M.values.cmd) .. "}"
  end
  local found = vim.fn.exepath("agent-lsp")
  if found ~= "" then
    return { found, "serve" }, "PATH"
  end
  local here = debug.getinfo(1, "S").source:sub(2)
  local built = vim.fs.normalize(vim.fn.fnamemodify(here, ":p:h:h:h:h:h") .. "/bin/agent-lsp")
  if vim.fn.executable(built) == 1 then
    return { built, "serve" }, "the checkout that this plugin is in"
  end
  return nil, "PATH"
end

--- A key as the person knows it: the leader by its name.
---@param lhs string
function M.label(lhs)
  local leader = vim.g.mapleader or "\\"
  if leader == " " then
    leader = M.values.ascii and "Space " or "␣"
  end
  return (lhs:gsub("<[Ll]eader>", (leader:gsub("%%", "%%%%"))))
end

return M
