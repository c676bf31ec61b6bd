--- The side panel: the step tree above, the prompt below it. What the rows say is
--- tree.lua's, how they come into the buffer canvas.lua's, what keys do there
--- panel_keys.lua's.
local canvas = require("agent-lsp.canvas")
local client = require("agent-lsp.client")
local config = require("agent-lsp.config")
local status = require("agent-lsp.status")
local text = require("agent-lsp.text")
local tree = require("agent-lsp.tree")
local welcome = require("agent-lsp.welcome")
local windows = require("agent-lsp.windows")

local M = {}

local DRAW_MS = 30 -- at most one drawing in this time
local TICK_MS = 500 -- elapsed time and the spinner, while something runs

---@type integer? buffer
M.buf = nil
---@type agent_lsp.Row[]
M.rows = {}
---@type table<string, boolean> what the person opened or closed, by key
M.folds = {}

local frame = 1
local scheduled = false
local ticker ---@type uv.uv_timer_t?
---@type table<string, { rows: agent_lsp.Row[], stamp: string }> by cycle id; only closed cycles
local cache = {}
---@type table<string, boolean> cycles that were there when the session was loaded are folded
local loaded = {}
local loaded_session ---@type string?

---@return integer?
function M.win()
  if M.buf then
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      if vim.api.nvim_win_get_buf(win) == M.buf then
        return win
      end
    end
  end
end

local function wins()
  return M.buf and vim.fn.win_findbuf(M.buf) or {}
end

---@return agent_lsp.Row?
function M.row_here()
  local win = M.win()
  return win and M.rows[vim.api.nvim_win_get_cursor(win)[1]]
end

--- What a closed cycle's rows depend on beside itself.
local function stamp_of(s, c, opts, folded)
  local parts = { opts.width, tostring(folded), M.fold_count or 0, tostring(s.model), tostring(s.meta.cycles[c.id]) }
  parts[#parts + 1] = tostring(opts.latest == c.id)
  parts[#parts + 1] = opts.cut_off and opts.cut_off.cycle == c.id and opts.cut_off.id or ""
  for _, step in ipairs(c.steps) do
    parts[#parts + 1] = opts.sent_again[step.id] and step.id or nil
    for _, group in ipairs(step.groups or {}) do
      for _, call in ipairs(group.calls) do
        parts[#parts + 1] = opts.pending[call.callId]
      end
    end
  end
  return table.concat(parts, "\0")
end

---@param s agent_lsp.Session
---@param width integer
---@return agent_lsp.Row[]
local function compose(s, width)
  local opts = {
    width = width,
    ascii = config.values.ascii,
    now = status.now(),
    frame = frame,
    folds = M.folds,
    pending = s:pending_by_call(),
    telemetry = s.telemetry,
    paused = s.run ~= nil and s.run.paused,
    cut_off = s.cut_off,
    sent_again = s:sent_again(),
    latest = (s.model.cycles[#s.model.cycles] or {}).id,
  }
  local blank = { key = "blank", text = "", marks = {}, data = { kind = "note" } }
  local rows = {}
  local function add(list)
    if #rows > 0 and #list > 0 then
      rows[#rows + 1] = vim.tbl_extend("force", blank, { key = "blank/" .. list[1].key })
    end
    vim.list_extend(rows, list)
  end
  local function answers(after)
    for i, a in ipairs(s.answers) do
      if a.after == after then
        add(tree.answer(a, "answer/" .. i, opts))
      end
    end
  end
  answers(nil)
  for _, c in ipairs(s.model.cycles) do
    local folded = loaded[c.id] and not (s.cut_off and s.cut_off.cycle == c.id) or false
    local entry = cache[c.id]
    local stamp = c.status ~= "active" and stamp_of(s, c, opts, folded) or nil
    if not entry or not stamp or entry.stamp ~= stamp then
      entry = { rows = tree.cycle(c, s.meta, opts, folded), stamp = stamp }
      cache[c.id] = stamp and entry or nil
    end
    add(entry.rows)
    answers(c.id)
  end
  add(tree.tail(s.model, opts, s.queue_paused))
  return rows
end

local function tick(s)
  local run = s and s:active_cycle() ~= nil and M.win() ~= nil
  if run and not ticker then
    ticker = assert(vim.uv.new_timer())
    ticker:start(TICK_MS, TICK_MS, vim.schedule_wrap(function()
      frame = frame + 1
      M.draw()
      vim.cmd.redrawstatus({ bang = true })
    end))
  elseif not run and ticker then
    ticker:stop()
    ticker:close()
    ticker = nil
  end
end

--- Cycles that were over when the session was opened are folded, but for the
--- latest: who comes back wants to see where they were.
---@param s agent_lsp.Session
local function fold_old(s)
  local name = ("%s/%s"):format(s.id, s.branch)
  if s.id and loaded_session ~= name then
    loaded_session, loaded, cache = name, {}, {}
    for i = 1, #s.model.cycles - 1 do
      loaded[s.model.cycles[i].id] = true
    end
  end
end

--- Draws now.
function M.draw_now()
  if not (M.buf and vim.api.nvim_buf_is_valid(M.buf)) then
    return
  end
  local s = client.current
  local win = M.win() or wins()[1]
  tick(s)
  if not win then
    return
  end
  local width = vim.api.nvim_win_get_width(win) - 1
  if s then
    fold_old(s)
  end
  if s and (#s.model.cycles > 0 or #s.answers > 0) then
    canvas.put(M, compose(s, width))
  else
    canvas.put(M, welcome.rows(s, width, config.values.ascii))
  end
end

--- Draws soon; many calls are one drawing.
function M.draw()
  if scheduled or not M.buf then
    return
  end
  scheduled = true
  vim.defer_fn(function()
    scheduled = false
    local ok, fault = pcall(M.draw_now)
    if not ok and tostring(fault):find("E565", 1, true) then
      M.draw() -- somebody's completion holds the text: later
    elseif not ok then
      error(fault, 0)
    end
  end, DRAW_MS)
end

--- Opens or closes what the row stands for.
---@param row agent_lsp.Row
function M.toggle_fold(row)
  local key = row.data.fold
  if key then
    M.folds[key] = not row.data.open
    M.fold_count = (M.fold_count or 0) + 1
    M.draw_now()
  end
end

--- Sets every fold of the tree.
---@param open boolean
function M.fold_all(open)
  for _, row in ipairs(M.rows) do
    if row.data.fold and (row.data.kind ~= "root" or open) then
      M.folds[row.data.fold] = open
    end
  end
  M.fold_count = (M.fold_count or 0) + 1
  M.draw_now()
end

local function create()
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, "agent-lsp://tree")
  vim.bo[buf].buftype = "nofile"
  vim.bo[buf].bufhidden = "hide"
  vim.bo[buf].swapfile = false
  vim.bo[buf].undolevels = -1
  vim.bo[buf].modifiable = false
  vim.bo[buf].filetype = "agent-lsp"
  require("agent-lsp.panel_keys").set(buf)
  M.buf, M.rows, cache = buf, {}, {}
  local group = vim.api.nvim_create_augroup("agent_lsp_panel", {})
  vim.api.nvim_create_autocmd({ "WinResized", "VimResized", "BufWinEnter" }, { group = group, callback = M.draw })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    callback = function()
      vim.schedule(function()
        require("agent-lsp.prompt").layout() -- the freed rows are the tree's
        M.draw()
      end)
    end,
  })
end

function M.title()
  local s = client.current
  local words = status.line(s)
  local g = require("agent-lsp.glyphs").set(config.values.ascii)
  local win = vim.g.statusline_winid or 0
  local room = vim.api.nvim_win_get_width(win) - text.width(words) - 5
  local title = room > 12 and text.cut(s and s.title or "", room, g.cut) or ""
  return (" %s%%=%%#AgentLspHint#%s%%* "):format((words:gsub("%%", "%%%%")), (title:gsub("%%", "%%%%")))
end

--- Opens the panel, with the prompt below it.
---@param focus boolean? go to the prompt
function M.open(focus)
  client.get()
  if not (M.buf and vim.api.nvim_buf_is_valid(M.buf)) then
    create()
  end
  if not M.win() then
    local from = vim.api.nvim_get_current_win()
    local width = config.values.panel.width
    width = width < 1 and math.floor(vim.o.columns * width) or width
    vim.cmd(config.values.panel.side == "left" and "topleft vsplit" or "botright vsplit")
    local win = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(win, M.buf)
    vim.api.nvim_win_set_width(win, math.max(30, math.min(width, vim.o.columns - 20)))
    windows.plain_window(win)
    vim.wo[win].winfixwidth = true
    vim.wo[win].conceallevel, vim.wo[win].concealcursor = 2, "nvic"
    vim.wo[win].winbar = "%{%v:lua.require'agent-lsp.panel'.title()%}"
    M.draw_now()
    vim.api.nvim_win_set_cursor(win, { math.max(1, #M.rows), 0 })
    require("agent-lsp.prompt").open(win)
    vim.api.nvim_set_current_win(from)
  end
  M.draw()
  if focus then
    require("agent-lsp.prompt").focus()
  end
end

function M.close()
  require("agent-lsp.prompt").close()
  local win = M.win()
  if win then
    if #vim.api.nvim_tabpage_list_wins(0) == 1 then
      vim.cmd("topleft new")
    end
    vim.api.nvim_win_close(win, true)
  end
  M.draw()
end

function M.toggle()
  if M.win() then
    M.close()
  else
    M.open(true)
  end
end

return M
