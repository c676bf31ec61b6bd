--- What the keys do in the panel.
local client = require("agent-lsp.client")
local windows = require("agent-lsp.windows")

local M = {}

--- A place "path:line" in the text under the cursor.
local function place_under_cursor()
  local s = client.current
  local col = vim.api.nvim_win_get_cursor(0)[2] + 1
  local line = vim.api.nvim_get_current_line()
  local at = 1
  while s do
    local first, last, path, number = line:find("([%w_%-./]+%.?[%w_]*):(%d+)", at)
    if not first then
      return nil
    end
    if col >= first and col <= last then
      return { path = path, line = tonumber(number) }
    end
    at = last + 1
  end
end

local function absolute(path)
  return path:sub(1, 1) == "/" and path or client.current.root .. "/" .. path
end

--- <CR>: a place opens, a tip is written into the prompt, anything else folds.
local function enter()
  local panel = require("agent-lsp.panel")
  local row = panel.row_here()
  if not row then
    return
  end
  local here = place_under_cursor()
  if here and vim.uv.fs_stat(absolute(here.path)) then
    windows.open_file(absolute(here.path), here.line)
  elseif row.data.kind == "tip" then
    require("agent-lsp.prompt").focus(row.data.text)
  elseif row.data.kind == "context" then
    require("agent-lsp.context").open(row.data.plan)
  elseif row.data.kind == "queued" then
    require("agent-lsp.queue").edit(row.data)
  elseif (row.data.kind == "call" or row.data.kind == "result") and row.data.place and not row.data.fold then
    windows.open_file(absolute(row.data.place.path), row.data.place.line)
  else
    panel.toggle_fold(row)
  end
end

--- Sets them in the panel's buffer.
---@param buf integer
function M.set(buf)
  local panel = require("agent-lsp.panel")
  local function map(lhs, what, fn)
    vim.keymap.set("n", lhs, fn, { buffer = buf, nowait = true, desc = "agent-lsp: " .. what })
  end
  local function on_row(kind, fn)
    return function()
      local row = panel.row_here()
      if row and row.data.kind == kind then
        fn(row.data)
      end
    end
  end
  local agent = require("agent-lsp")
  map("<CR>", "open or fold", enter)
  map("za", "fold", function()
    local row = panel.row_here()
    if row then
      panel.toggle_fold(row)
    end
  end)
  map("zR", "open all", function()
    panel.fold_all(true)
  end)
  map("zM", "close all", function()
    panel.fold_all(false)
  end)
  map("gf", "open the file", function()
    local row = panel.row_here()
    local place = place_under_cursor() or row and row.data.place
    if place then
      windows.open_file(absolute(place.path), place.line)
    end
  end)
  map("o", "whole result", function()
    local row = panel.row_here()
    if row then
      require("agent-lsp.browse").result(row.data)
    end
  end)
  map("c", "context", function()
    require("agent-lsp.context").open()
  end)
  map("p", "answer the question", function()
    require("agent-lsp.permission").focus()
  end)
  map("P", "pause", agent.pause)
  map("r", "resume", function()
    local row = panel.row_here()
    agent.resume(row and row.data.kind == "standing" and row.data.run or nil)
  end)
  map("x", "cancel", agent.cancel)
  map("e", "escalate", function()
    agent.escalate()
  end)
  map("a", "approve the proposed workflow", on_row("workflow", function(data)
    if data.turn then
      agent.approve(data.turn)
    end
  end))
  map("s", "send an unread steer again", on_row("steer", function(data)
    if data.unread then
      agent.submit(data.text)
    end
  end))
  local queue = require("agent-lsp.queue")
  for _, lhs in ipairs({ "<Del>", "dd" }) do
    map(lhs, "remove from the queue", on_row("queued", queue.remove))
  end
  map("K", "move up in the queue", on_row("queued", function(data)
    queue.move(data, -1)
  end))
  map("J", "move down in the queue", on_row("queued", function(data)
    queue.move(data, 1)
  end))
  map("i", "go to the prompt", function()
    require("agent-lsp.prompt").focus()
  end)
  map("q", "close", panel.close)
end

return M
