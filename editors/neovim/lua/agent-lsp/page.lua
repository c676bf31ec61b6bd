--- A buffer of rows to read and search, in a split over the whole width.
local M = {}

local NS = vim.api.nvim_create_namespace("agent_lsp_page")

---@param buf integer
---@param rows { text: string, marks: table[] }[]
function M.put(buf, rows)
  local text = {}
  for i, row in ipairs(rows) do
    text[i] = row.text
  end
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_clear_namespace(buf, NS, 0, -1)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, text)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
  for i, row in ipairs(rows) do
    for _, m in ipairs(row.marks) do
      vim.api.nvim_buf_set_extmark(buf, NS, i - 1, m[1], { end_col = math.min(m[2], #row.text), hl_group = m[3], strict = false })
    end
  end
end

--- Opens a page by name; the same name is the same buffer.
---@param name string
---@param rows { text: string, marks: table[] }[]
---@param opts { filetype?: string }?
---@return integer buf, boolean fresh
function M.open(name, rows, opts)
  local full = "agent-lsp://" .. name
  local buf = vim.fn.bufnr("^" .. vim.fn.escape(full, "[]*?") .. "$")
  local fresh = buf == -1
  if fresh then
    buf = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buf, full)
    vim.bo[buf].buftype = "nofile"
    vim.bo[buf].bufhidden = "hide"
    vim.bo[buf].swapfile = false
    vim.bo[buf].filetype = opts and opts.filetype or "agent-lsp-page"
    vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buf, nowait = true, desc = "agent-lsp: close" })
  end
  M.put(buf, rows)
  local win = vim.fn.bufwinid(buf)
  if win == -1 then
    vim.api.nvim_set_current_win(require("agent-lsp.windows").file_window())
    local height = math.max(8, math.min(#rows + 1, math.floor(vim.o.lines * 0.6)))
    vim.cmd("botright " .. height .. "split")
    win = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(win, buf)
    require("agent-lsp.windows").plain_window(win)
    vim.wo[win].winfixbuf = false
    vim.wo[win].wrap = false
    vim.wo[win].cursorline = true
  else
    vim.api.nvim_set_current_win(win)
  end
  vim.api.nvim_win_set_cursor(win, { 1, 0 })
  return buf, fresh
end

return M
