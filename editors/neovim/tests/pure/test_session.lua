--- What is kept of the server's notifications, against a gate of our own.
local MiniTest = require("mini.test")
local session = require("agent-lsp.session")
local eq = MiniTest.expect.equality

local T = MiniTest.new_set()

--- A session with a gate that keeps its requests until they are answered here.
local function new()
  local asked = {}
  local s
  s = session.new("/p", {
    request = function(method, params, done)
      asked[#asked + 1] = { method = method, params = params, done = done }
    end,
    notify = function() end,
  })
  local function take(method)
    for i, a in ipairs(asked) do
      if a.method == method then
        return table.remove(asked, i)
      end
    end
  end
  return s, take
end

local function loaded(rev)
  return {
    sessionId = "s1", branchId = "b1", title = "t", branches = {},
    cycles = { rev = rev, state = "idle", cycles = {}, queued = {}, anomalies = {}, meta = { cycles = {}, calls = {} } },
    edits = { hunks = {} },
  }
end

local function delta(rev, ops, more)
  return vim.tbl_extend("force", { sessionId = "s1", branchId = "b1", cycleId = "m1", rev = rev, ops = ops }, more or {})
end

local open = { { op = "cycle", cycle = "m1", kind = "direct", text = "go" } }

local function ready(rev)
  local s, take = new()
  s:load()
  take("agent/session/load").done(nil, loaded(rev))
  return s, take
end

T["deltas in order are applied"] = function()
  local s, take = ready(4)
  s:on_cycle(delta(5, open, { meta = { { cycle = "m1", cycleMeta = { state = "running", runId = "run-1" } } } }))
  s:on_cycle(delta(6, { { op = "status", cycle = "m1", status = "completed" } }))
  eq({ s.rev, s.model.state, #s.model.cycles, s.model.cycles[1].status }, { 6, "idle", 1, "completed" })
  eq(take("agent/cycles"), nil)
end

T["a gap fetches the whole, and what came meanwhile is applied after it"] = function()
  local s, take = ready(4)
  s:on_cycle(delta(7, open))
  local fetch = take("agent/cycles")
  eq(fetch.params.sessionId, "s1")
  s:on_cycle(delta(8, { { op = "push", id = "q", text = "held" } }))
  s:on_cycle(delta(6, { { op = "push", id = "x", text = "older than the fetch" } }))
  local whole = loaded(7).cycles
  whole.state, whole.cycles = "active", { { id = "m1", root = { id = "m1", text = "go" }, status = "active", steps = {} } }
  fetch.done(nil, whole)
  eq({ s.rev, #s.model.cycles, #s.model.queued, s.model.queued[1].text }, { 8, 1, 1, "held" })
  eq(take("agent/cycles"), nil)
end

T["an op that doesn't fit fetches the whole"] = function()
  local s, take = ready(1)
  s:on_cycle(delta(2, { { op = "text", cycle = "nope", step = 1, text = "x" } }))
  eq(take("agent/cycles") ~= nil, true)
end

T["what was seen already changes nothing"] = function()
  local s, take = ready(4)
  s:on_cycle(delta(4, open))
  eq({ s.rev, #s.model.cycles }, { 4, 0 })
  eq(take("agent/cycles"), nil)
end

T["another branch counts, another session doesn't"] = function()
  local s, take = ready(4)
  s:on_cycle(delta(5, open, { branchId = "b2" }))
  s:on_cycle(delta(99, open, { sessionId = "s2" }))
  eq({ s.rev, #s.model.cycles }, { 5, 0 })
  eq(take("agent/cycles"), nil)
end

T["the first session of a workspace is taken up"] = function()
  local s, take = new()
  s:load()
  take("agent/session/load").done({ message = "none" }, nil)
  eq(s.ready, true)
  s:on_cycle(delta(1, open))
  eq(s.id, "s1")
  eq(take("agent/cycles") ~= nil, true)
end

T["hunks: a document's list is replaced, the others stay"] = function()
  local s = ready(1)
  local function h(id, uri, line)
    return { hunkId = id, uri = uri, callId = "c1", range = { start = { line = line, character = 0 }, ["end"] = { line = line + 1, character = 0 } } }
  end
  s:on_edits({ sessionId = "s1", uris = { "file:///a", "file:///b" }, hunks = { h("2", "file:///a", 9), h("1", "file:///a", 2), h("3", "file:///b", 1) }, pending = 3 })
  eq(vim.tbl_map(function(x) return x.hunkId end, (s:all_hunks())), { "1", "2", "3" })
  s:on_edits({ sessionId = "s1", uris = { "file:///a" }, hunks = { h("2", "file:///a", 8) }, pending = 2 })
  local all, files = s:all_hunks()
  eq({ #all, files, s.pending, s:pending_by_call().c1 }, { 2, 2, 2, 2 })
  s:on_edits({ sessionId = "s1", uris = { "file:///a", "file:///b" }, hunks = {}, pending = 0 })
  eq({ #s:all_hunks(), s.pending }, { 0, 0 })
end

T["the run: paused and over"] = function()
  local s = ready(1)
  local status = require("agent-lsp.status")
  s:on_cycle(delta(2, open, { meta = { { cycle = "m1", cycleMeta = { state = "running", runId = "run-1", model = "builtin", iter = 2, max = 40 } } } }))
  eq(status.of(s).state, "running")
  s:on_loop({ schema = 1, event = "STATE", run_id = "run-1", stack = { { id = "x", mode = "chat", iter = 2, max = 40, model = "builtin", paused = true } } })
  eq({ status.of(s).state, s:run_id() }, { "paused", "run-1" })
  s:on_loop({ schema = 1, event = "DONE", run_id = "run-1", stack = {} })
  eq(status.of(s).state, "running") -- until the cycle's own end comes
  s:on_cycle(delta(3, { { op = "status", cycle = "m1", status = "completed" } }))
  eq(status.of(s).state, "idle")
end

return T
