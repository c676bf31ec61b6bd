--- Windows: the one that files are shown in, and how one of ours looks.
local config = require("agent-lsp.config")

local M = {}

--- The window that files are shown in.
---@return integer
function M.file_window()
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  local candidates = vim.list_extend({ previous }, vim.api.nvim_tabpage_list_wins(0))
  for _, win in ipairs(candidates) do
    if
      win ~= 0
      and vim.api.nvim_win_is_valid(win)
      and vim.bo[vim.api.nvim_win_get_buf(win)].buftype == ""
      and vim.api.nvim_win_get_config(win).relative == ""
    then
      return win
    end
  end
  vim.cmd(config.values.panel.side == "left" and "botright vsplit | enew" or "topleft vsplit | enew")
  return vim.api.nvim_get_current_win()
end

---@param path string absolute
---@param line integer
function M.open_file(path, line)
  vim.api.nvim_set_current_win(M.file_window())
  if vim.api.nvim_buf_get_name(0) ~= path then
    vim.cmd.edit(vim.fn.fnameescape(path))
  end
  local last = vim.api.nvim_buf_line_count(0)
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { math.min(line, last), 0 })
  vim.cmd("normal! zvzz")
end

--- Without the person's own columns and markers.
---@param win integer
function M.plain_window(win)
  local wo = vim.wo[win]
  wo.number, wo.relativenumber, wo.list, wo.spell, wo.cursorline = false, false, false, false, false
  wo.signcolumn, wo.foldcolumn, wo.colorcolumn = "no", "0", ""
  wo.wrap, wo.linebreak, wo.breakindent = true, true, true
  wo.winfixbuf = true
  wo.statusline = " "
  wo.fillchars = "eob: "
end

return M
