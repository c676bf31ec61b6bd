--- `agent/editor`: the agent asks the language servers that run in this editor.
--- What they answer is passed on as it is.
local M = {}

M.ops = { "definition", "references", "hover", "symbols", "diagnostics", "rename", "format", "save" }

local METHODS = {
  definition = "textDocument/definition",
  references = "textDocument/references",
  hover = "textDocument/hover",
  symbols = "textDocument/documentSymbol",
  rename = "textDocument/rename",
  format = "textDocument/formatting",
}

--- A language server for a buffer that can do it and counts columns as we do.
---@param bufnr integer
---@param method string
---@return vim.lsp.Client?
local function able(bufnr, method)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = bufnr })) do
    local supports
    if vim.fn.has("nvim-0.11") == 1 then
      supports = client:supports_method(method, bufnr)
    else
      supports = client.supports_method(method, { bufnr = bufnr }) ---@diagnostic disable-line
    end
    if client.name ~= "agent-lsp" and supports and client.offset_encoding == "utf-16" then
      return client
    end
  end
end

--- nil where nobody could report a problem: no language server but ours, and
--- nothing that was reported.
---@param bufnr integer
local function diagnostics(bufnr)
  local out = {}
  local servers = vim.tbl_filter(function(c)
    return c.name ~= "agent-lsp"
  end, vim.lsp.get_clients({ bufnr = bufnr }))
  if #servers == 0 and #vim.diagnostic.get(bufnr) == 0 then
    return vim.NIL
  end
  for _, d in ipairs(vim.diagnostic.get(bufnr)) do
    local lsp = vim.tbl_get(d, "user_data", "lsp")
    out[#out + 1] = {
      range = lsp and lsp.range or {
        start = { line = d.lnum, character = d.col },
        ["end"] = { line = d.end_lnum or d.lnum, character = d.end_col or d.col },
      },
      severity = d.severity,
      source = d.source,
      code = d.code,
      message = d.message,
    }
  end
  return out
end

--- Whether the file on disk is another than the one that the buffer was read
--- from: writing would ask the person, or overwrite it.
---@param bufnr integer
local function changed_on_disk(bufnr)
  local changed = false
  local id = vim.api.nvim_create_autocmd("FileChangedShell", {
    buffer = bufnr,
    callback = function()
      changed = true
      vim.v.fcs_choice = ""
    end,
  })
  vim.cmd("silent! checktime " .. bufnr)
  vim.api.nvim_del_autocmd(id)
  return changed
end

--- Writes a buffer that the agent has edited, with the person's own autocommands
--- (formatters, linters), if it still is as the agent left it.
---@param bufnr integer
---@param version integer?
---@return boolean saved
local function save(bufnr, version)
  if version and vim.lsp.util.buf_versions[bufnr] ~= version then
    return false -- the person has typed since: when that is written is up to them
  elseif not vim.bo[bufnr].modified then
    return true
  elseif vim.bo[bufnr].buftype ~= "" or vim.bo[bufnr].readonly or changed_on_disk(bufnr) then
    return false
  end
  local ok = pcall(vim.api.nvim_buf_call, bufnr, function()
    vim.cmd("silent lockmarks write")
  end)
  return ok and not vim.bo[bufnr].modified
end

---@param p agent_lsp.EditorParams
---@return any result, table? err
function M.answer(p)
  local bufnr = vim.uri_to_bufnr(p.uri)
  if not vim.api.nvim_buf_is_loaded(bufnr) then
    return vim.NIL
  elseif p.op == "diagnostics" then
    return diagnostics(bufnr)
  elseif p.op == "save" then
    return save(bufnr, p.version)
  end
  local method = METHODS[p.op]
  local client = method and able(bufnr, method)
  local co, is_main = coroutine.running()
  if not client or not co or is_main then
    return vim.NIL
  end
  local params = { textDocument = { uri = p.uri }, position = p.position, range = p.range, newName = p.newName }
  if p.op == "references" then
    params.context = { includeDeclaration = true }
  elseif p.op == "format" then
    params.options = { tabSize = vim.bo[bufnr].tabstop, insertSpaces = vim.bo[bufnr].expandtab }
  end
  local got, waiting = nil, false
  local function done(err, result)
    got = { err = err, result = result }
    if waiting then
      coroutine.resume(co)
    end
  end
  local sent
  if vim.fn.has("nvim-0.11") == 1 then
    sent = client:request(method, params, done, bufnr)
  else
    sent = client.request(method, params, done, bufnr) ---@diagnostic disable-line
  end
  if not sent then
    return vim.NIL
  end
  if not got then -- a server inside the editor may have answered already
    waiting = true
    coroutine.yield()
  end
  if got.err or got.result == nil then
    return vim.NIL
  end
  return got.result
end

return M
