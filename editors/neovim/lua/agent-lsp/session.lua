--- What this editor knows of one workspace's agent: the projection that the
--- server sends, kept current. It decides nothing; it tells listeners.
local model = require("agent-lsp.model")

local M = {}

local HELD_MAX = 4096 -- deltas kept while the whole is fetched; the fetch repeats when more came

---@class agent_lsp.Session
---@field root string
---@field client_id integer?
---@field ready boolean the server answered
---@field ended? { [1]: integer, [2]: integer } exit code and signal of the last server
---@field down? boolean the server ended too often and is not started again by itself
---@field id string?
---@field branch string?
---@field title string?
---@field branches agent_lsp.BranchInfo[]
---@field rev integer
---@field model agent_lsp.Model
---@field meta agent_lsp.CyclesMeta
---@field hunks table<string, agent_lsp.Hunk[]> by uri, from top to bottom
---@field pending integer hunks in all files
---@field run { id: string, iter: integer, max: integer, model: string, paused: boolean }?
---@field cut_off agent_lsp.CutOff? the branch's run that a crash ended and that may be taken up again
---@field status agent_lsp.StatusResult?
---@field index agent_lsp.IndexStatus?
---@field models agent_lsp.ModelInfo[]
---@field answers { after: string?, input: string, content: string, ok: boolean }[] of state commands
---@field telemetry string?
---@field queue_paused boolean
---@field fetching boolean
---@field held agent_lsp.CycleNotification[]
---@field gate agent_lsp.Gate
---@field private offered table<string, boolean> runs whose offer the person was told of
---@field private asked integer how often the status was asked for: only the latest answer counts
local Session = {}
Session.__index = Session

---@class agent_lsp.CutOff
---@field id string of the run
---@field cycle string

--- Called with (session, what): what is "tree", "hunks", "status" or "cut off":
--- the last once for each run that a crash ended and that may be taken up again.
---@type fun(session: agent_lsp.Session, what: string)[]
M.listeners = {}

--- The one way to the server; client.lua gives it.
---@class agent_lsp.Gate
---@field request fun(method: string, params: table, done: fun(err: table?, result: any))
---@field notify fun(method: string, params: table)

---@param root string
---@param gate agent_lsp.Gate
---@return agent_lsp.Session
function M.new(root, gate)
  return setmetatable({
    root = root,
    gate = gate,
    ready = false,
    branches = {},
    rev = 0,
    model = model.new(),
    meta = model.new_meta(),
    hunks = {},
    pending = 0,
    models = {},
    answers = {},
    queue_paused = false,
    fetching = false,
    held = {},
    offered = {},
    asked = 0,
  }, Session)
end

---@param what "tree"|"hunks"|"status"|"cut off"
function Session:tell(what)
  for _, fn in ipairs(M.listeners) do
    fn(self, what)
  end
end

--- The session and branch, for params.
---@param params table?
function Session:ref(params)
  params = params or {}
  params.sessionId = self.id
  params.branchId = self.branch
  return next(params) ~= nil and params or vim.empty_dict()
end

---@return agent_lsp.Cycle?
function Session:active_cycle()
  local c = self.model.cycles[#self.model.cycles]
  return c and c.status == "active" and c or nil
end

---@return agent_lsp.CycleMeta?
function Session:active_meta()
  local c = self:active_cycle()
  return c and self.meta.cycles[c.id] or nil
end

--- The run that a control is meant for. Only a resume can mean one that a crash
--- cut off, where nothing else waits to be resumed.
---@param command string?
---@return string?
function Session:run_id(command)
  local meta = self:active_meta()
  local id = meta and (meta.runId or "") ~= "" and meta.runId or self.run and self.run.id or nil
  if command == "resume" and self.cut_off and not (id and self:paused()) then
    return self.cut_off.id
  end
  return id
end

--- Whether the active run is.
---@return boolean
function Session:paused()
  local meta = self:active_meta()
  return meta ~= nil and meta.state == "paused" or self.run ~= nil and self.run.paused
end

---@param r agent_lsp.CyclesResult
function Session:take_cycles(r)
  self.rev = r.rev or 0
  self.model = model.from(r)
  self.meta = { cycles = (r.meta or {}).cycles or {}, calls = (r.meta or {}).calls or {} }
  local held = self.held
  self.held = {}
  for _, n in ipairs(held) do
    self:on_cycle(n)
  end
end

---@param self agent_lsp.Session
---@param run agent_lsp.RunInfo?
local function take_run(self, run)
  self.run = run
    and run.state ~= "interrupted"
    and { id = run.runId, iter = run.iter, max = run.max, model = run.model, paused = run.state == "paused" }
    or nil
end

--- Takes from what the server says of runs the one of this branch that a crash
--- ended and that may be taken up again, if there is one.
---@param self agent_lsp.Session
---@param runs agent_lsp.RunInfo[]
local function take_cut_off(self, runs)
  local before = self.cut_off
  self.cut_off = nil
  for _, r in ipairs(runs) do
    if r.resumable and r.sessionId == self.id and r.branchId == self.branch then
      self.cut_off = { id = r.runId, cycle = r.cycleId }
    end
  end
  if not vim.deep_equal(before, self.cut_off) then
    self:tell("tree")
  end
  if self.cut_off and not self.offered[self.cut_off.id] then
    self.offered[self.cut_off.id] = true
    self:tell("cut off")
  end
end

--- Takes a loaded session whole: tree, hunks and run.
---@param r agent_lsp.SessionLoaded
function Session:take(r)
  self.id, self.branch, self.title = r.sessionId, r.branchId, r.title
  self.branches = r.branches or {}
  self.telemetry = nil
  take_run(self, r.run)
  self:take_cycles(r.cycles)
  take_cut_off(self, { r.run })
  self:set_hunks((r.edits or {}).hunks or {})
  self:tell("tree")
  self:tell("status")
end

--- Loads a session, by default the workspace's latest. A workspace without any
--- is no error.
---@param ref table?
---@param done fun(err: table?)?
function Session:load(ref, done)
  ref = ref and next(ref) and ref or vim.empty_dict()
  self.fetching = true
  self.gate.request("agent/session/load", ref, function(err, r)
    self.fetching = false
    self.ready = true
    if r then
      self:take(r)
    end
    self:refresh_status()
    if done then
      done(err)
    end
  end)
end

--- Fetches the whole projection: after a gap, or when a session was made by
--- somebody else.
function Session:fetch()
  if self.fetching then
    return
  end
  self.fetching = true
  self.gate.request("agent/cycles", self:ref({ view = "steps" }), function(_, r)
    self.fetching = false
    if r then
      self:take_cycles(r)
      self:tell("tree")
      self:tell("status")
    end
  end)
end

--- Status and models: what the status line, the offer of a run that was cut off
--- and the first minute say.
function Session:refresh_status()
  self:refresh_runs()
  self.gate.request("agent/models", vim.empty_dict(), function(_, r)
    if r then
      self.models = r.models or {}
      self:tell("status")
    end
  end)
end

--- Asks for the status, which says what runs and what may be taken up again.
function Session:refresh_runs()
  self.asked = self.asked + 1
  local asked = self.asked
  self.gate.request("agent/status", self:ref(), function(_, r)
    if not r or asked ~= self.asked then
      return -- what is said next is newer
    end
    self.status, self.index = r, r.index
    self.id, self.branch = self.id or (r.sessionId ~= "" and r.sessionId or nil), self.branch or (r.branchId ~= "" and r.branchId or nil)
    take_cut_off(self, r.runs or {})
    self:tell("status")
  end)
end

---@param n agent_lsp.CycleNotification
function Session:on_cycle(n)
  if not self.id and not self.fetching then -- somebody began the workspace's first session
    self.id, self.branch = n.sessionId, n.branchId
    self:fetch()
    return
  elseif self.id and n.sessionId ~= self.id then
    return
  elseif self.fetching then
    self.held[#self.held + 1] = n
    if #self.held > HELD_MAX then
      self.held = {} -- the gap that this leaves makes the next delta fetch again
    end
    return
  elseif n.rev <= self.rev then
    return
  elseif n.rev ~= self.rev + 1 then
    self:fetch()
    return
  end
  self.rev = n.rev
  if n.branchId ~= self.branch then
    return
  end
  local before, queued = self.model.state, #self.model.queued
  if model.reduce(self.model, n.ops or {}) then
    self:fetch()
    return
  end
  model.reduce_meta(self.meta, n.meta)
  if before ~= self.model.state then
    self.telemetry = nil
    if self.model.state == "idle" then
      self.run = nil
      self:refresh_status()
    end
  end
  if self.cut_off and (self.model.state == "active" and before == "idle" or #self.model.queued > queued) then
    self:refresh_runs() -- what came may go on with that run, or without it
  end
  self:tell("tree")
  self:tell("status")
end

---@param n agent_lsp.StreamChunk
function Session:on_stream(n)
  if n.sessionId ~= self.id or n.branchId ~= self.branch then
    return
  end
  if n.type == "processing" then
    self.telemetry = n.content
  elseif n.isComplete then
    self.telemetry = nil
  end
  self:tell("tree")
end

--- Hunks grouped by document, each list from top to bottom.
---@param list agent_lsp.Hunk[]
local function by_uri(list)
  local out = {}
  for _, h in ipairs(list) do
    out[h.uri] = out[h.uri] or {}
    table.insert(out[h.uri], h)
  end
  for _, hunks in pairs(out) do
    table.sort(hunks, function(a, b)
      local x, y = a.range.start, b.range.start
      if x.line ~= y.line then
        return x.line < y.line
      end
      return a.hunkId < b.hunkId
    end)
  end
  return out
end

---@param list agent_lsp.Hunk[] everything that pends
function Session:set_hunks(list)
  self.hunks = by_uri(list)
  self.pending = #list
  self:tell("hunks")
end

---@param n agent_lsp.EditsChanged
function Session:on_edits(n)
  for _, uri in ipairs(n.uris or {}) do
    self.hunks[uri] = nil
  end
  for uri, list in pairs(by_uri(n.hunks or {})) do
    self.hunks[uri] = list
  end
  self.pending = n.pending or 0
  self:tell("hunks")
  self:tell("tree")
  self:tell("status")
end

---@param n agent_lsp.IndexStatus
function Session:on_index(n)
  self.index = n
  self:tell("status")
end

---@param n agent_lsp.LoopEvent
function Session:on_loop(n)
  if n.event == "STATE" then
    local frame = (n.stack or {})[1]
    local mine = self:run_id()
    if frame and (not mine or mine == n.run_id) then
      local inner = n.stack[#n.stack]
      self.run = { id = n.run_id, iter = inner.iter, max = inner.max, model = inner.model, paused = frame.paused or inner.paused or false }
    end
  else
    if self.run and self.run.id == n.run_id then
      self.run = nil
    end
    if n.reason == "INTERRUPTED" then
      self:refresh_runs() -- whose run it was, and whether it can be taken up
    end
  end
  self:tell("status")
end

--- Hunks of all files, in path order.
---@return agent_lsp.Hunk[], integer files
function Session:all_hunks()
  local uris = {}
  for uri, list in pairs(self.hunks) do
    if #list > 0 then
      uris[#uris + 1] = uri
    end
  end
  table.sort(uris)
  local out = {}
  for _, uri in ipairs(uris) do
    vim.list_extend(out, self.hunks[uri])
  end
  return out, #uris
end

--- Hunks to review by call id.
---@return table<string, integer>
function Session:pending_by_call()
  local out = {}
  for _, list in pairs(self.hunks) do
    for _, h in ipairs(list) do
      if h.callId then
        out[h.callId] = (out[h.callId] or 0) + 1
      end
    end
  end
  return out
end

--- Steers that no model call read and that were sent again since: the same
--- words, later. By message id.
---@return table<string, boolean>
function Session:sent_again()
  local out, later = {}, {}
  for _, q in ipairs(self.model.queued) do
    later[q.text] = true
  end
  for i = #self.model.cycles, 1, -1 do
    local c = self.model.cycles[i]
    local unread = {}
    for _, id in ipairs((self.meta.cycles[c.id] or {}).unread or {}) do
      unread[id] = true
    end
    for j = #(c.steps or {}), 1, -1 do
      local step = c.steps[j]
      if step.type ~= "ai-block" then
        out[step.id] = unread[step.id] and later[step.text] or nil
        later[step.text] = true
      end
    end
  end
  return out
end

--- Which step made a call, by call id: "step 5".
---@return table<string, string>
function Session:steps_by_call()
  local out = {}
  for _, c in ipairs(self.model.cycles) do
    for i, step in ipairs(c.steps or {}) do
      for _, group in ipairs(step.groups or {}) do
        for _, call in ipairs(group.calls) do
          out[call.callId] = ("step %d"):format(i - 1)
        end
      end
    end
  end
  return out
end

return M
