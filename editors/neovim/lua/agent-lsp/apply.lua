--- `workspace/applyEdit`: one undo step a document, and never onto text that
--- the edit was not made for. Neovim's own handler says "applied" of a stale
--- edit that it left out.
local M = {}

--- Why an edit must not be applied, or nil.
---@param edit lsp.WorkspaceEdit
---@return string?
local function stale(edit)
  for _, change in ipairs(edit.documentChanges or {}) do
    local doc = change.textDocument
    if doc and type(doc.version) == "number" then
      local bufnr = vim.uri_to_bufnr(doc.uri)
      local now = vim.lsp.util.buf_versions[bufnr]
      if now and now ~= doc.version then
        return ("%s is at version %d, the edit is for %d"):format(doc.uri, now, doc.version)
      elseif not vim.api.nvim_buf_is_loaded(bufnr) then
        return doc.uri .. " is not open"
      elseif not vim.bo[bufnr].modifiable then
        return doc.uri .. " is not modifiable"
      end
    end
  end
end

--- Ends the undo step that typing may have begun, so that one `u` takes back
--- the agent's edit and nothing of the person's.
local function undo_break(edit)
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.textDocument then
      local bufnr = vim.uri_to_bufnr(change.textDocument.uri)
      vim.api.nvim_buf_call(bufnr, function()
        vim.cmd("let &l:undolevels = &l:undolevels")
      end)
    end
  end
end

function M.edit(err, params, ctx)
  if err then
    return nil, err
  end
  local client = assert(vim.lsp.get_client_by_id(ctx.client_id))
  local why = stale(params.edit)
  if why then
    return { applied = false, failureReason = why }
  end
  undo_break(params.edit)
  local ok, fault = pcall(vim.lsp.util.apply_workspace_edit, params.edit, client.offset_encoding)
  undo_break(params.edit)
  return { applied = ok, failureReason = not ok and tostring(fault) or nil }
end

return M
