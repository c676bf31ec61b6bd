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

--- What a server says after it was killed: a run of this branch that may be taken up, and one of another.
local function cut()
  return {
    sessionId = "s1", branchId = "b1", model = "builtin",
    runs = {
      { runId = "run-1", sessionId = "s1", branchId = "b1", cycleId = "m1", state = "interrupted", resumable = true, iter = 2, max = 40 },
      { runId = "run-9", sessionId = "s9", branchId = "b9", cycleId = "m9", state = "interrupted", resumable = true, iter = 2, max = 40 },
    },
  }
end

--- Counts how often the person is told of a run that was cut off.
local function listen(s)
  local told = 0
  local function fn(of, what)
    told = told + (of == s and what == "cut off" and 1 or 0)
  end
  table.insert(session.listeners, fn)
  MiniTest.finally(function()
    session.listeners = vim.tbl_filter(function(f)
      return f ~= fn
    end, session.listeners)
  end)
  return function()
    return told
  end
end

T["a run that a crash cut off is offered, told once, and gone once it goes on"] = function()
  local s, take = new()
  local told = listen(s)
  s:load()
  local answer = loaded(4)
  answer.run = cut().runs[1]
  take("agent/session/load").done(nil, answer)
  eq({ s.cut_off, s.run, told() }, { { id = "run-1", cycle = "m1" }, nil, 1 })
  eq({ s:run_id("resume"), s:run_id("cancel") }, { "run-1", nil })
  take("agent/status").done(nil, cut())
  s:load()
  take("agent/session/load").done(nil, answer)
  take("agent/status").done(nil, cut())
  eq({ s.cut_off.id, told() }, { "run-1", 1 })
  -- the run that goes on with it has begun: the server is asked what is left, and a late answer of before doesn't count
  s:refresh_runs()
  local late = take("agent/status")
  s:on_cycle(delta(5, open, { meta = { { cycle = "m1", cycleMeta = { state = "running", runId = "run-2" } } } }))
  take("agent/status").done(nil, { sessionId = "s1", branchId = "b1", model = "builtin", runs = {} })
  late.done(nil, cut())
  eq({ s.cut_off, s:run_id("resume"), told() }, { nil, "run-2", 1 })
end

T["a run that another window's server lost is offered here"] = function()
  local s, take = ready(4)
  take("agent/status").done(nil, { sessionId = "s1", branchId = "b1", model = "builtin", runs = {} })
  local told = listen(s)
  s:on_loop({ schema = 1, event = "ABORT", run_id = "run-1", reason = "INTERRUPTED", stack = {} })
  take("agent/status").done(nil, cut())
  eq({ s:run_id("resume"), told() }, { "run-1", 1 })
  s:on_loop({ schema = 1, event = "ABORT", run_id = "run-8", reason = "USER_CANCELLED", stack = {} })
  eq(take("agent/status"), nil)
end

T["resume means what is paused before what was cut off"] = function()
  local s, take = ready(4)
  take("agent/status").done(nil, cut())
  s:on_cycle(delta(5, { { op = "cycle", cycle = "m2", kind = "followUp", text = "next" } }, { meta = { { cycle = "m2", cycleMeta = { state = "paused", runId = "run-2" } } } }))
  take("agent/status").done(nil, cut()) -- it was not taken up by that
  eq({ s:run_id("resume"), s:run_id("cancel"), s.cut_off.id }, { "run-2", "run-2", "run-1" })
  s:on_cycle(delta(6, {}, { meta = { { cycle = "m2", cycleMeta = { state = "running", runId = "run-2" } } } }))
  eq({ s:run_id("resume"), s:run_id("cancel") }, { "run-1", "run-2" })
end

T["an unread steer was sent again when its words came once more, later"] = function()
  local s = ready(4)
  local function c(id, words, steer)
    return { id = id, status = "interrupted", root = { id = id, text = words }, steps = {
      { type = "non-steer", id = id, text = words }, steer and { type = "steer", id = id .. "s", text = steer } or nil,
    } }
  end
  s.model.cycles = { c("m1", "be quick", "be brief"), c("m2", "go on", "be quick") }
  s.meta.cycles = { m1 = { unread = { "m1s" } }, m2 = { unread = { "m2s" } } }
  eq(s:sent_again(), {})
  s.model.queued = { { id = "q", text = "be brief" } }
  eq(s:sent_again(), { m1s = true })
  s.model.queued = {}
  s.model.cycles[3] = c("m3", "be quick")
  eq(s:sent_again(), { m2s = true })
end

return T
