--- Pause, resume, cancel, escalate: REQUEST messages on `loop:control`. Sent
--- again with the same id when no ACK came; told to the person when the second
--- try fails too.
local M = {}

local ACK_MS = 30000
local TRIES_MAX = 2
M.ack_ms = ACK_MS -- tests shorten it

---@type table<string, { message: table, tries: integer, timer: uv.uv_timer_t, acked: boolean, done: fun(payload: table)? }>
local open = {}

---@return string
function M.uuid()
  local b = { string.byte(assert(vim.uv.random(16)), 1, 16) }
  b[7] = b[7] % 16 + 0x40 -- version 4
  b[9] = b[9] % 64 + 0x80 -- variant 1
  local hex = {}
  for i, v in ipairs(b) do
    hex[i] = ("%02x"):format(v)
  end
  local s = table.concat(hex)
  return table.concat({ s:sub(1, 8), s:sub(9, 12), s:sub(13, 16), s:sub(17, 20), s:sub(21) }, "-")
end

local function say(...)
  require("agent-lsp.client").say(...)
end

local function close(id)
  local r = open[id]
  open[id] = nil
  if r then
    r.timer:stop()
    r.timer:close()
  end
  return r
end

---@param s agent_lsp.Session
local function send(s, id)
  local r = open[id]
  r.tries = r.tries + 1
  s.gate.notify("loop:control", r.message)
  r.timer:start(M.ack_ms, 0, vim.schedule_wrap(function()
    if not open[id] or r.acked then
      return
    elseif r.tries < TRIES_MAX then
      send(s, id)
    else
      close(id)
      say(("%s: no answer from the server, tried twice; :checkhealth agent-lsp"):format(r.message.command), vim.log.levels.ERROR)
    end
  end))
end

---@param s agent_lsp.Session
---@param command "pause"|"resume"|"cancel"|"escalate"
---@param payload table?
---@param done fun(payload: table)? gets the RESULT's payload
---@param run string? the run's id; the one that the command fits if not said
---@return string? id
function M.request(s, command, payload, done, run)
  run = run or s:run_id(command)
  if not run then
    say(("nothing runs that could be %s"):format(({ pause = "paused", resume = "resumed", cancel = "cancelled", escalate = "escalated" })[command]))
    return nil
  end
  local id = M.uuid()
  open[id] = {
    message = {
      schema = 0,
      type = "REQUEST",
      request_id = id,
      command = command,
      target = { run_id = run },
      timestamp = os.date("!%Y-%m-%dT%H:%M:%SZ"),
      payload = payload and next(payload) and payload or vim.empty_dict(),
    },
    tries = 0,
    acked = false,
    timer = assert(vim.uv.new_timer()),
    done = done,
  }
  send(s, id)
  return id
end

--- ACK and RESULT; those of other controllers' requests are not for us.
---@param _ agent_lsp.Session
---@param m agent_lsp.ControlMessage
function M.answered(_, m)
  local r = open[m.request_id]
  if not r then
    return
  end
  if m.type == "ACK" then
    r.acked = true
    r.timer:stop()
  elseif m.type == "RESULT" then
    close(m.request_id)
    local payload = m.payload or {}
    if payload.status == "failure" then
      say(("%s: %s"):format(m.command, payload.message or payload.code or "failed"), vim.log.levels.WARN)
    end
    if r.done then
      r.done(payload)
    end
  end
end

return M
