vim.opt.rtp:prepend(vim.env.PLUGIN)
vim.o.termguicolors = true
vim.o.swapfile = false
vim.o.shortmess = vim.o.shortmess .. "I"
vim.g.mapleader = " "
vim.cmd("runtime plugin/agent-lsp.lua")
-- messages are kept, not shown: a long one would stop the editor for a key
vim.g.said = {}
vim.notify = function(m) ---@diagnostic disable-line
  vim.g.said = vim.list_extend(vim.g.said, { m })
end
