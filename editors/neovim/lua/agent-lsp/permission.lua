--- `agent/permission`: a float with what is asked, one key an answer. It never
--- takes the keys of somebody who is typing: it waits until they stop.
local glyphs = require("agent-lsp.glyphs")
local text = require("agent-lsp.text")

local M = {}

local GUARD_MS = 350 -- after it took the focus, keys typed for something else are not answers
local LINES_MAX = 24 -- of the diff or command shown; the rest scrolls
local NS = vim.api.nvim_create_namespace("agent_lsp_permission")

---@class agent_lsp.Question
---@field params agent_lsp.PermissionParams
---@field session agent_lsp.Session
---@field asked? boolean the tree has said that the call asks
---@field answer fun(result: agent_lsp.PermissionResult)

---@type agent_lsp.Question[] the first is shown
local queue = {}
local shown ---@type { buf: integer, win: integer, question: agent_lsp.Question, focused_at: number? }?

local function option(params, kind)
  for _, o in ipairs(params.options or {}) do
    if o.kind == kind then
      return o
    end
  end
end

--- Lines and highlights of a question. Pure.
---@param p agent_lsp.PermissionParams
---@param ascii boolean?
function M.lines(p, ascii)
  local g = glyphs.set(ascii)
  local lines, marks = {}, {}
  local function add(line, group)
    lines[#lines + 1] = " " .. line .. " "
    if group then
      marks[#marks + 1] = { #lines - 1, 1, 1 + #line, group }
    end
  end
  for _, line in ipairs(text.lines(p.title)) do
    add(text.clean(line), "AgentLspRoot")
  end
  local detail = p.detail or ""
  if vim.startswith(detail, p.title) then -- the command itself is said already
    detail = vim.trim(detail:sub(#p.title + 1))
  end
  if detail ~= "" then
    for _, line in ipairs(text.lines(detail)) do
      add(text.clean(line), "AgentLspDim")
    end
  end
  if p.destructive then
    add(g.warn .. " this may destroy something", "AgentLspError")
  end
  if (p.diff or "") ~= "" then
    for _, line in ipairs(text.lines((p.diff:gsub("\n$", "")))) do
      local first = line:sub(1, 1)
      add(text.clean(line), first == "+" and "AgentLspAdd" or first == "-" and "AgentLspDelete" or "AgentLspDim")
    end
  end
  local keys = {}
  if option(p, "allow_once") then
    keys[#keys + 1] = "[y] once"
  end
  local always = option(p, "allow_always")
  if always then
    local rule = always.name:gsub("^Always allow ", ""):gsub(" = allow$", "")
    keys[#keys + 1] = "[a] always: " .. rule
  end
  if option(p, "reject_once") then
    keys[#keys + 1] = "[n] no"
    keys[#keys + 1] = "[N] no, because" .. g.cut
  end
  if option(p, "reject_always") then
    keys[#keys + 1] = "[D] never"
  end
  add(table.concat(keys, "  "), "AgentLspKey")
  return lines, marks
end

local show_next

local function close()
  if shown then
    local win, buf = shown.win, shown.buf
    shown = nil
    pcall(vim.api.nvim_win_close, win, true)
    pcall(vim.api.nvim_buf_delete, buf, { force = true })
  end
end

---@param kind string
---@param reason string?
local function answer(kind, reason)
  if not shown then
    return
  end
  local q = shown.question
  local o = option(q.params, kind)
  if not o then
    return
  end
  close()
  table.remove(queue, 1)
  q.answer({ optionId = o.id, reason = reason })
  show_next()
end

--- Whether the person is free to read a question: not typing, selecting or in
--- a command line.
local function free()
  local mode = vim.api.nvim_get_mode()
  return mode.mode == "n" and not mode.blocking and vim.fn.getcmdwintype() == ""
end

--- Puts the cursor into the float.
function M.focus()
  if shown and vim.api.nvim_win_is_valid(shown.win) then
    if vim.api.nvim_get_current_win() ~= shown.win then
      vim.api.nvim_set_current_win(shown.win)
      shown.focused_at = vim.uv.now()
    end
    return true
  end
  return false
end

local function keys(buf)
  local function map(lhs, fn)
    vim.keymap.set("n", lhs, function()
      vim.uv.update_time()
      if shown and vim.uv.now() - (shown.focused_at or 0) >= GUARD_MS then
        fn()
      end
    end, { buffer = buf, nowait = true })
  end
  map("y", function()
    answer("allow_once")
  end)
  map("a", function()
    answer("allow_always")
  end)
  map("n", function()
    answer("reject_once")
  end)
  map("D", function()
    answer("reject_always")
  end)
  map("N", function()
    vim.ui.input({ prompt = "No, because: " }, function(reason)
      if reason then
        answer("reject_once", reason)
      end
    end)
  end)
  map("q", function()
    vim.cmd.wincmd("p") -- leaves it open: not to answer is no answer
  end)
end

function show_next()
  local q = queue[1]
  if shown or not q then
    return
  end
  local ascii = require("agent-lsp.config").values.ascii
  local lines, marks = M.lines(q.params, ascii)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  vim.bo[buf].filetype = "agent-lsp-permission"
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  for _, m in ipairs(marks) do
    vim.api.nvim_buf_set_extmark(buf, NS, m[1], m[2], { end_col = m[3], hl_group = m[4] })
  end
  local width = 40
  for _, line in ipairs(lines) do
    width = math.max(width, text.width(line))
  end
  width = math.min(width, math.max(20, vim.o.columns - 4))
  local height = math.max(1, math.min(#lines, LINES_MAX, vim.o.lines - 6))
  local win = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 2),
    col = math.max(0, math.floor((vim.o.columns - width) / 2) - 1),
    width = width,
    height = height,
    style = "minimal",
    border = ascii and { "+", "-", "+", "|", "+", "-", "+", "|" } or "rounded",
    title = (" %s wants to run "):format(q.params.tool),
    zindex = 60,
  })
  vim.wo[win].wrap = true
  vim.wo[win].winhighlight = "NormalFloat:Normal,FloatBorder:AgentLspWait,FloatTitle:AgentLspWait"
  vim.api.nvim_win_set_cursor(win, { #lines, 0 })
  shown = { buf = buf, win = win, question = q }
  keys(buf)
  require("agent-lsp.client").say(("action required: %s %s"):format(q.params.tool, (text.first_line(q.params.title))), vim.log.levels.WARN)
  if free() then
    M.focus()
  end
end

--- Asks the person; called in the coroutine of a request, which waits.
---@param session agent_lsp.Session
---@param params agent_lsp.PermissionParams
function M.ask(session, params)
  local co, is_main = coroutine.running()
  if not co or is_main then
    return nil, { code = -32603, message = "agent/permission came outside of a request" }
  end
  queue[#queue + 1] = {
    params = params,
    session = session,
    answer = function(result)
      coroutine.resume(co, result)
    end,
  }
  vim.schedule(function()
    M.refresh(session) -- the run may have been stopped meanwhile
  end)
  return coroutine.yield()
end

--- Whether a question has its answer, or nobody waits for one. The state "asking"
--- and the question itself come in either order.
---@param q agent_lsp.Question
local function over(q)
  local meta = q.session.meta.calls[q.params.toolCallId]
  local state = meta and meta.state or "running"
  q.asked = q.asked or state == "asking"
  if state == "asking" then
    return false
  elseif state == "running" then
    return q.asked -- answered by another client
  end
  return true
end

--- Takes back questions that were answered elsewhere or whose run is over.
---@param session agent_lsp.Session
function M.refresh(session)
  for i = #queue, 1, -1 do
    local q = queue[i]
    if q.session == session and over(q) then
      table.remove(queue, i)
      if shown and shown.question == q then
        close()
      end
      q.answer({ optionId = "" }) -- no option: nobody has answered here
    end
  end
  vim.schedule(show_next)
end

function M.setup()
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = vim.api.nvim_create_augroup("agent_lsp_permission", {}),
    pattern = "*:n",
    callback = function()
      if shown then
        vim.schedule(function()
          if free() then
            M.focus()
          end
        end)
      end
    end,
  })
end

return M
