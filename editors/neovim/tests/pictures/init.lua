-- The editor of the pictures: stock Neovim, stock colours, the plugin.
vim.opt.rtp:prepend(vim.env.PLUGIN)
vim.o.termguicolors = true
vim.o.number = true
vim.o.signcolumn = "auto"
vim.o.laststatus = 2
vim.o.showmode = false
vim.o.ruler = false
vim.o.wrap = false
vim.o.shortmess = vim.o.shortmess .. "I"
vim.o.swapfile = false
vim.g.mapleader = " "
require("agent-lsp").setup({ cmd = vim.env.BIN })
vim.o.statusline = " %f %m%=%{v:lua.require'agent-lsp'.statusline()} "
