--- Changes to the queued follow-ups.
local client = require("agent-lsp.client")

local M = {}

local function send(method, params)
  local s = client.current
  if not s then
    return
  end
  s.gate.request(method, s:ref(params), function(err, r)
    if err then
      client.say(client.explain(err), vim.log.levels.WARN)
    elseif r then
      s.queue_paused = r.paused
      s.model.queued = r.queued or {}
      s:tell("tree")
    end
  end)
end

---@param data { id: string }
function M.remove(data)
  send("agent/queue/remove", { id = data.id })
end

---@param data { id: string, index: integer }
---@param by integer
function M.move(data, by)
  local to = math.max(0, data.index + by)
  send("agent/queue/move", { id = data.id, to = to })
end

---@param data { id: string, text: string }
function M.edit(data)
  vim.ui.input({ prompt = "Follow-up: ", default = data.text }, function(input)
    if input and vim.trim(input) ~= "" then
      send("agent/queue/edit", { id = data.id, input = input })
    end
  end)
end

--- Asks whether the queue waits: nothing else says so.
---@param s agent_lsp.Session
function M.refresh(s)
  if #s.model.queued > 0 then
    s.gate.request("agent/queue", s:ref(), function(_, r)
      if r and s.queue_paused ~= r.paused then
        s.queue_paused = r.paused
        s:tell("tree")
      end
    end)
  else
    s.queue_paused = false
  end
end

return M
