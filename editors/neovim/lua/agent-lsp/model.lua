--- The projection of request cycles, kept by applying the ops of `agent/cycle`.
--- Pure: no Neovim state. It is the twin of the server's Reduce and is held to
--- the same corpus of logs.
local M = {}

---@class agent_lsp.Model
---@field state "idle"|"active"
---@field cycles agent_lsp.Cycle[]
---@field queued agent_lsp.Queued[]
---@field anomalies agent_lsp.Anomaly[]

---@return agent_lsp.Model
function M.new()
  return { state = "idle", cycles = {}, queued = {}, anomalies = {} }
end

--- A model from the result of `agent/cycles`.
---@param r agent_lsp.CyclesResult
---@return agent_lsp.Model
function M.from(r)
  return { state = r.state, cycles = r.cycles or {}, queued = r.queued or {}, anomalies = r.anomalies or {} }
end

---@return agent_lsp.CyclesMeta
function M.new_meta()
  return { cycles = {}, calls = {} }
end

--- Ops that need no active cycle.
local anywhere = {
  cycle = function(m, op)
    if m.state == "active" then
      return "a cycle is active already"
    end
    m.state = "active"
    m.cycles[#m.cycles + 1] = {
      id = op.cycle,
      root = { id = op.cycle, kind = op.kind, text = op.text or "" },
      status = "active",
      steps = { { type = "non-steer", id = op.cycle, text = op.text or "" } },
      rounds = {},
    }
  end,
  push = function(m, op)
    m.queued[#m.queued + 1] = { id = op.id, text = op.text or "" }
  end,
  pop = function(m)
    if #m.queued == 0 then
      return "the queue is empty"
    end
    table.remove(m.queued, 1)
  end,
  queue = function(m, op)
    m.queued = {}
    for i, q in ipairs(op.queued or {}) do
      m.queued[i] = { id = q.id, text = q.text }
    end
  end,
  anomaly = function(m, op)
    m.anomalies[#m.anomalies + 1] = { index = op.index or 0, reason = op.reason }
  end,
}

--- A step's group, for ops that name one.
local function group_of(c, op)
  local s = c.steps[(op.step or 0) + 1]
  if not s then
    return nil, ("there is no step %d"):format(op.step or 0)
  elseif s.type ~= "ai-block" then
    return nil, ("step %d is no ai-block"):format(op.step or 0)
  end
  if op.op == "call" and (op.call or 0) == 0 then
    if (op.group or 0) ~= #s.groups then
      return nil, ("group %d can't follow %d groups"):format(op.group or 0, #s.groups)
    end
    s.groups[#s.groups + 1] = { type = op.type, calls = {} }
  end
  local g = s.groups[(op.group or 0) + 1]
  if not g then
    return nil, ("there is no group %d in step %d"):format(op.group or 0, op.step or 0)
  end
  return g
end

--- The cycle's last round; a view without rounds has none to change.
local function round_of(c)
  if not c.rounds then
    return nil
  end
  local r = c.rounds[#c.rounds]
  return r, not r and "the cycle has no round" or nil
end

local function copy(list)
  local out = {}
  for i, v in ipairs(list or {}) do
    out[i] = v
  end
  return out
end

--- Ops on the active cycle.
local active = {
  status = function(m, c, op)
    c.status, m.state = op.status, "idle"
  end,
  step = function(_, c, op)
    if (op.step or 0) ~= #c.steps then
      return ("step %d can't follow %d steps"):format(op.step or 0, #c.steps)
    end
    if op.type == "ai-block" then
      c.steps[#c.steps + 1] =
        { type = op.type, text = { kind = op.kind, id = op.id, text = op.text or "" }, groups = {} }
    else
      c.steps[#c.steps + 1] = { type = op.type, id = op.id, text = op.text or "" }
    end
  end,
  text = function(_, c, op)
    local s = c.steps[(op.step or 0) + 1]
    if not s then
      return ("there is no step %d"):format(op.step or 0)
    elseif s.type == "ai-block" then
      s.text.text = s.text.text .. (op.text or "")
    else
      s.text = s.text .. (op.text or "")
    end
  end,
  call = function(_, c, op)
    local g, fault = group_of(c, op)
    if not g then
      return fault
    end
    if (op.call or 0) ~= #g.calls then
      return ("call %d can't follow %d calls"):format(op.call or 0, #g.calls)
    end
    g.calls[#g.calls + 1] = { callId = op.callId, tool = op.tool, args = op.args or {} }
  end,
  result = function(_, c, op)
    local g, fault = group_of(c, op)
    if not g then
      return fault
    end
    local call = g.calls[(op.call or 0) + 1]
    if not call then
      return ("there is no call %d in group %d of step %d"):format(op.call or 0, op.group or 0, op.step or 0)
    end
    call.result = { status = op.status, text = op.text or "" }
  end,
  round = function(_, c, op)
    if c.rounds then
      c.rounds[#c.rounds + 1] = { n = op.n or 0, input = copy(op.input), output = {}, feedback = {} }
    end
  end,
  output = function(_, c, op)
    local r, fault = round_of(c)
    if r then
      r.output[#r.output + 1] = op.id
    end
    return fault
  end,
  feedback = function(_, c, op)
    local r, fault = round_of(c)
    if r then
      r.feedback[#r.feedback + 1] = op.id
    end
    return fault
  end,
}

local function reduce_one(m, op)
  if anywhere[op.op] then
    return anywhere[op.op](m, op)
  end
  local c = m.cycles[#m.cycles]
  if m.state ~= "active" or not c or c.id ~= op.cycle then
    return ("cycle %q is not the active one"):format(op.cycle or "")
  end
  if not active[op.op] then
    return "unknown kind of op"
  end
  return active[op.op](m, c, op)
end

--- Applies ops in order, in place. Stops at the first that doesn't fit and says
--- which and why: then the whole model must be fetched again.
---@param m agent_lsp.Model
---@param ops agent_lsp.CycleOp[]
---@return string? fault
function M.reduce(m, ops)
  for i, op in ipairs(ops) do
    local fault = reduce_one(m, op)
    if fault then
      return ("op %d (%s) doesn't fit the model: %s"):format(i - 1, tostring(op.op), fault)
    end
  end
end

--- Applies what goes beside the ops: each entry replaces one of the meta's.
---@param meta agent_lsp.CyclesMeta
---@param ops agent_lsp.MetaOp[]?
function M.reduce_meta(meta, ops)
  for _, op in ipairs(ops or {}) do
    if op.cycle and op.cycleMeta then
      meta.cycles[op.cycle] = op.cycleMeta
    end
    if op.call and op.callMeta then
      meta.calls[op.call] = op.callMeta
    end
  end
end

return M
