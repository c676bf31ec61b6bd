--- The side panel: the step tree above, the prompt below it. It draws rows and
--- keeps the person's place; what the rows say is tree.lua's.
local client = require("agent-lsp.client")
local config = require("agent-lsp.config")
local status = require("agent-lsp.status")
local text = require("agent-lsp.text")
local tree = require("agent-lsp.tree")
local welcome = require("agent-lsp.welcome")

local M = {}

local NS = vim.api.nvim_create_namespace("agent_lsp_panel")
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

--- Colours of fenced code, by the language's own parser where there is one.
local function colour_code(first, last)
  local row = first
  while row <= last do
    local code = M.rows[row].code
    if not code or code.lang == "" then
      row = row + 1
    else
      local to = row
      while to < #M.rows and M.rows[to + 1].code and M.rows[to + 1].code.lang == code.lang do
        to = to + 1
      end
      local lines = {}
      for i = row, to do
        lines[#lines + 1] = M.rows[i].text:sub(M.rows[i].code.col + 1)
      end
      local lang = vim.treesitter.language.get_lang(code.lang) or code.lang
      local source = table.concat(lines, "\n")
      local ok, parser = pcall(vim.treesitter.get_string_parser, source, lang)
      local query = ok and parser and vim.treesitter.query.get(lang, "highlights")
      if query then
        local root = parser:parse()[1]:root()
        for id, node in query:iter_captures(root, source) do
          local r1, c1, r2, c2 = node:range()
          local name = query.captures[id]
          if name:sub(1, 1) ~= "_" and name ~= "spell" then
            local col1 = M.rows[row + r1].code.col + c1
            local end_row = math.min(row + r2, to)
            pcall(vim.api.nvim_buf_set_extmark, M.buf, NS, row + r1 - 1, col1, {
              end_row = end_row - 1,
              end_col = M.rows[end_row].code.col + c2,
              hl_group = "@" .. name .. "." .. lang,
              priority = 120,
              strict = false,
            })
          end
        end
      end
      row = to + 1
    end
  end
end

--- The rows from the first to the last that differ from what is drawn.
---@param rows agent_lsp.Row[]
---@return integer first, integer old_last, integer new_last
local function changed(rows)
  local old = M.rows
  local first = 1
  local function same(a, b)
    return a == b
      or (a.key == b.key and a.text == b.text and vim.deep_equal(a.marks, b.marks) and vim.deep_equal(a.code, b.code))
  end
  while first <= #old and first <= #rows and same(old[first], rows[first]) do
    first = first + 1
  end
  local old_last, new_last = #old, #rows
  while old_last >= first and new_last >= first and same(old[old_last], rows[new_last]) do
    old_last, new_last = old_last - 1, new_last - 1
  end
  return first, old_last, new_last
end

--- Where each window is, by row key, so that rows may come and go above it.
local function places()
  local out = {}
  for _, win in ipairs(wins()) do
    local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
    out[win] = {
      follows = view.lnum >= math.max(1, #M.rows),
      view = view,
      key = M.rows[view.lnum] and M.rows[view.lnum].key,
      top = M.rows[view.topline] and M.rows[view.topline].key,
    }
  end
  return out
end

local function restore(places_before)
  local at = {}
  for i, row in ipairs(M.rows) do
    at[row.key] = i
  end
  for win, p in pairs(places_before) do
    if p.follows then
      vim.api.nvim_win_set_cursor(win, { math.max(1, #M.rows), 0 })
      vim.api.nvim_win_call(win, function()
        if vim.fn.line("w$") < #M.rows or vim.fn.line("w0") == #M.rows then
          vim.cmd("normal! zb")
        end
      end)
    else
      local view = vim.tbl_extend("force", p.view, {
        lnum = at[p.key] or math.min(p.view.lnum, math.max(1, #M.rows)),
        topline = at[p.top] or p.view.topline,
      })
      vim.api.nvim_win_call(win, function()
        vim.fn.winrestview(view)
      end)
    end
  end
end

---@param rows agent_lsp.Row[]
local function put(rows)
  local first, old_last, new_last = changed(rows)
  local before = places()
  if old_last < first and new_last < first then
    M.rows = rows
    return
  end
  local lines = {}
  for i = first, new_last do
    lines[#lines + 1] = rows[i].text
  end
  vim.bo[M.buf].modifiable = true
  vim.api.nvim_buf_clear_namespace(M.buf, NS, first - 1, math.max(first, old_last))
  vim.api.nvim_buf_set_lines(M.buf, first - 1, #M.rows == 0 and -1 or old_last, false, lines)
  vim.bo[M.buf].modifiable = false
  vim.bo[M.buf].modified = false
  M.rows = rows
  for i = first, new_last do
    for _, m in ipairs(rows[i].marks) do
      vim.api.nvim_buf_set_extmark(M.buf, NS, i - 1, m[1], {
        end_col = math.min(m[2], #rows[i].text),
        hl_group = m[3],
        conceal = m[4] and "" or nil,
        strict = false,
      })
    end
  end
  colour_code(first, new_last)
  restore(before)
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
    put(compose(s, width))
  else
    put(welcome.rows(s, width, config.values.ascii))
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
local function toggle_fold(row)
  local key = row.data.fold
  if key then
    M.folds[key] = not row.data.open
    M.fold_count = (M.fold_count or 0) + 1
    M.draw_now()
  end
end

--- Sets every fold of the tree.
---@param open boolean
local function fold_all(open)
  for _, row in ipairs(M.rows) do
    if row.data.fold and (row.data.kind ~= "root" or open) then
      M.folds[row.data.fold] = open
    end
  end
  M.fold_count = (M.fold_count or 0) + 1
  M.draw_now()
end

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
  local row = M.row_here()
  if not row then
    return
  end
  local here = place_under_cursor()
  if here and vim.uv.fs_stat(absolute(here.path)) then
    M.open_file(absolute(here.path), here.line)
  elseif row.data.kind == "tip" then
    require("agent-lsp.prompt").focus(row.data.text)
  elseif row.data.kind == "context" then
    require("agent-lsp.context").open(row.data.plan)
  elseif row.data.kind == "queued" then
    require("agent-lsp.queue").edit(row.data)
  elseif (row.data.kind == "call" or row.data.kind == "result") and row.data.place and not row.data.fold then
    M.open_file(absolute(row.data.place.path), row.data.place.line)
  else
    toggle_fold(row)
  end
end

local function keys(buf)
  local function map(lhs, what, fn)
    vim.keymap.set("n", lhs, fn, { buffer = buf, nowait = true, desc = "agent-lsp: " .. what })
  end
  local function on_row(kind, fn)
    return function()
      local row = M.row_here()
      if row and row.data.kind == kind then
        fn(row.data)
      end
    end
  end
  local agent = require("agent-lsp")
  map("<CR>", "open or fold", enter)
  map("za", "fold", function()
    local row = M.row_here()
    if row then
      toggle_fold(row)
    end
  end)
  map("zR", "open all", function()
    fold_all(true)
  end)
  map("zM", "close all", function()
    fold_all(false)
  end)
  map("gf", "open the file", function()
    local row = M.row_here()
    local place = place_under_cursor() or row and row.data.place
    if place then
      M.open_file(absolute(place.path), place.line)
    end
  end)
  map("o", "whole result", function()
    local row = M.row_here()
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
    local row = M.row_here()
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
  map("q", "close", M.close)
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
  keys(buf)
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
    M.plain_window(win)
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
