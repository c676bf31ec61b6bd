--- The smaller pure parts: status words, context view, permission, first minute, ids.
local MiniTest = require("mini.test")
local golden = require("golden")
local eq = MiniTest.expect.equality

local T = MiniTest.new_set()

T["status line"] = function()
  local words = require("agent-lsp.status").words
  local function of(s, none, ascii)
    return words(vim.tbl_extend("keep", s, { state = "idle", pending = 0, model = "anthropic/sonnet", elapsed = 0 }), none or false, ascii)
  end
  eq(of({ state = "running", iter = 3, max = 40, elapsed = 12.3 }), "agent ● 3/40 sonnet 12s")
  eq(of({ state = "paused" }), "agent ⏸ paused")
  eq(of({ pending = 3 }), "agent ⧗ 3 hunks")
  eq(of({ pending = 1 }), "agent ⧗ 1 hunk")
  eq(of({}), "agent ○")
  eq(of({}, true), "agent ⚠ no model")
  eq(of({ state = "waiting" }), "agent ⧗ asks you")
  eq(of({ state = "starting" }), "agent · starting")
  eq(of({ down = true }), "agent ⚠ not running")
  eq(of({ pending = 3 }, false, true), "agent ? 3 hunks")
end

local plan = {
  planId = "7f3a91c0aa",
  call = 2,
  model = "builtin",
  budget = { prompt = 28000, estimated = 21900 },
  included = {
    { id = "sys", section = "system", tokens = 1234, reason = "required", detail = "" },
    { id = "h1", section = "history", tokens = 408, reason = "dependency", detail = "of edit in turn 2" },
    { id = "r1", section = "retrieval", tokens = 612, reason = "budget", detail = "" },
    { id = "q", section = "request", tokens = 1600, reason = "required", detail = "" },
  },
  excluded = {
    { id = "r2", section = "retrieval", tokens = 890, reason = "budget", detail = "needed 890, 350 left" },
    { id = "h0", section = "history", tokens = 62, reason = "ttl", detail = "expired after 3 turns" },
  },
  sections = {
    { section = "system", tokens = 1234, items = 1 },
    { section = "history", tokens = 9800, items = 1 },
    { section = "retrieval", tokens = 7400, items = 1 },
    { section = "request", tokens = 1600, items = 1 },
  },
  labels = {
    sys = { label = "system prompt" },
    r1 = { label = "net/transport.go:210-268", uri = "file:///p/net/transport.go", startLine = 210, endLine = 268,
      why = { { ranker = "bm25", rank = 1, score = 1 }, { ranker = "symbol", rank = 2, score = 0.5 } } },
    r2 = { label = "net/http2/frame.go:1-44", uri = "file:///p/net/http2/frame.go", startLine = 1, endLine = 44 },
    h1 = { label = "turn 2: read dial.go", pinned = true },
    h0 = { label = "turn 1: ls" },
  },
}

T["context view"] = function()
  local lines = require("agent-lsp.context_lines")
  golden.equal("context", golden.rows(lines.rows(plan, { width = 120 }), true))
  golden.equal("context-ascii", golden.rows(lines.rows(plan, { width = 120, ascii = true })))
  golden.equal("context-filtered", golden.rows(lines.rows(plan, { width = 120, filter = "FRAME" })))
  local replayed = vim.tbl_extend("force", plan, { replay = "identical" })
  golden.equal("context-identical", golden.rows(lines.rows(replayed, { width = 120, turn = 4 }), true))
  replayed.replay = "differs"
  golden.equal("context-differs", golden.rows(lines.rows(replayed, { width = 120, turn = 4 }), true))
end

T["context comparison"] = function()
  local lines = require("agent-lsp.context_lines")
  local diff = {
    a = "aaaaaaaaa", b = "7f3a91c0aa", identical = false,
    budgetA = { prompt = 28000, estimated = 20000 }, budgetB = { prompt = 28000, estimated = 21900 },
    ["in"] = { { id = "r1", section = "retrieval", tokens = 612, reason = "budget", before = { reason = "budget", tokens = 612 } } },
    out = {}, new = { { id = "q", section = "request", tokens = 1600, reason = "required" } }, newOut = {}, gone = {}, changed = {},
  }
  golden.equal("context-diff", golden.rows(lines.diff_rows(diff, plan.labels, {})))
  diff.identical = true
  eq(golden.rows(lines.diff_rows(diff, plan.labels, {}))[2], "identical")
end

T["permission"] = function()
  local lines = require("agent-lsp.permission").lines({
    tool = "bash",
    title = "rm -rf build && go build ./...",
    detail = "in ~/src/net · sandboxed: writes only here, no network",
    diff = "--- a\n+++ b\n-old\n+new\n",
    destructive = true,
    options = {
      { id = "1", kind = "allow_once", name = "Allow once" },
      { id = "2", kind = "allow_always", name = "Always allow bash(go build *)" },
      { id = "3", kind = "reject_once", name = "No" },
    },
  })
  golden.equal("permission", lines)
end

T["what can be put back is said beforehand, each choice with what it changes"] = function()
  local choices = require("agent-lsp.restore").choices
  local file = { path = "greet.go", added = 4, removed = 4 }
  local mine = { path = "b.go", added = 0, removed = 0, skipped = "you have changed it since" }
  eq(choices({ restored = { file }, skipped = { mine }, turns = 1 }), {
    { what = "files", words = "files: greet.go (+4 −4), b.go left alone: you have changed it since" },
    { what = "conversation", words = "the conversation from before its last turn" },
    { what = "both", words = "both" },
  })
  eq(choices({ restored = {}, skipped = {}, turns = 2 }), { { what = "conversation", words = "the conversation from before its last 2 turns" } })
  eq(choices({ restored = {}, skipped = { mine }, turns = 0 }), {})
end

T["two branches side by side"] = function()
  local function side(name, more)
    return vim.tbl_extend("force", {
      branch = { branchId = name, name = name, turns = 1, active = false }, input = "make the dialer retry\nplease", evidence = { "net/dial.go:1-44", "net/x.go:3-9" },
      planId = "plan-7f3a91c0aa", turnId = "t1", calls = { { tool = "read" }, { tool = "edit" }, { tool = "read" } },
      usage = { { input = 6120, output = 300, ms = 1200, costUsd = 0.04 } }, outcome = { response = { content = "Retries three times.\nSee dial.go" } },
      diffs = { { path = "net/dial.go", added = 2, removed = 1, diff = "--- a/net/dial.go\n+++ b/net/dial.go\n@@ -1 +1,2 @@\n-once\n+three\n+times\n" } },
    }, more or {})
  end
  local empty = side("main", { input = "", evidence = {}, calls = {}, usage = {}, diffs = {} })
  empty.turnId, empty.planId, empty.outcome = nil, nil, nil
  local comparison = { a = side("idea"), b = empty, shared = {}, onlyA = { "net/dial.go:1-44" }, onlyB = {} }
  local rows = require("agent-lsp.branches").comparison_rows
  golden.equal("comparison", golden.rows(rows(comparison), true))
  golden.equal("comparison-ascii", golden.rows(rows(comparison, true)))
end

T["trace"] = function()
  golden.equal("trace", golden.rows(require("agent-lsp.browse").trace_rows({
    turnId = "t1",
    calls = {
      { callId = "c1", tool = "read", title = "a.go", args = {}, status = "ok", text = "", ms = 80, round = 1 },
      { callId = "c2", tool = "bash", title = "go test ./...", args = {}, status = "error", text = "", ms = 4200, round = 2 },
    },
    usage = { { round = 1, planId = "p", model = "builtin", estimated = 6000, input = 6120, output = 40, cacheRead = 0, cacheWrite = 0, ms = 12, firstMs = 1, costUsd = 0 } },
    rounds = {},
    routes = {
      { route = "CONVERSATIONAL_ONLY", categories = {}, method = "fast-path", reason = "small talk", score = 0.35, ms = 0.1 },
      { route = "TOOLS", categories = { "read", "web" }, method = "need-tools", reason = "the model asked for tools", score = 1, ms = 0 },
      { route = "TOOLS", categories = {}, method = "rules", reason = "all tools: it asks for work (+0.50)", score = 0.85, ms = 120 },
    },
  })))
end

local function session(more)
  return vim.tbl_extend("force", {
    ready = true,
    models = { { name = "builtin", current = true, available = true }, { name = "ollama/qwen", available = true } },
    status = { tips = { "where is main?", "who calls Serve?", "run the tests" } },
    index = { state = "indexing", done = 12, total = 40 },
  }, more or {})
end

T["first minute"] = function()
  local rows = require("agent-lsp.welcome").rows
  golden.equal("welcome", golden.rows(rows(session(), 60)))
  golden.equal("welcome-alone", golden.rows(rows(session({ models = { { name = "builtin", current = true, available = true } }, index = { state = "ready" } }), 60)))
  golden.equal("welcome-starting", golden.rows(rows(session({ ready = false }), 60)))
  golden.equal("welcome-none", golden.rows(rows(nil, 60)))
end

T["request ids are UUIDs of version 4"] = function()
  local seen = {}
  for _ = 1, 200 do
    local id = require("agent-lsp.control").uuid()
    eq(id:match("^%x%x%x%x%x%x%x%x%-%x%x%x%x%-4%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$"), id)
    eq(seen[id], nil)
    seen[id] = true
  end
end

T["a control is tried twice with the same id, then told"] = function()
  local control = require("agent-lsp.control")
  local sent, said = {}, {}
  local before, notify = control.ack_ms, vim.notify
  control.ack_ms = 30
  vim.notify = function(m)
    said[#said + 1] = m
  end
  local s = {
    run_id = function()
      return "run-1"
    end,
    gate = { notify = function(method, m)
      sent[#sent + 1] = { method, vim.deepcopy(m) }
    end },
  }
  local id = control.request(s, "pause")
  vim.wait(2000, function()
    return #said > 0
  end, 5)
  control.ack_ms, vim.notify = before, notify
  eq(#sent, 2)
  eq(sent[1], sent[2])
  local m = sent[1][2]
  eq({ sent[1][1], m.schema, m.type, m.request_id, m.command, m.target.run_id }, { "loop:control", 0, "REQUEST", id, "pause", "run-1" })
  eq(m.timestamp:match("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$"), m.timestamp)
  eq(said[1]:find("tried twice", 1, true) ~= nil, true)
end

T["an acknowledged control is not sent again"] = function()
  local control = require("agent-lsp.control")
  local sent, got = 0, nil
  local before = control.ack_ms
  control.ack_ms = 30
  local s = {
    run_id = function()
      return "run-1"
    end,
    gate = { notify = function()
      sent = sent + 1
    end },
  }
  local id = control.request(s, "escalate", { model = "opus" }, function(payload)
    got = payload
  end)
  control.answered(s, { type = "ACK", request_id = id })
  vim.wait(120)
  control.answered(s, { type = "RESULT", request_id = id, command = "escalate", payload = { status = "success", new_model = "opus" } })
  control.ack_ms = before
  eq(sent, 1)
  eq(got.new_model, "opus")
end

T["every method that is used is in the protocol"] = function()
  local known = {}
  local protocol = require("agent-lsp.protocol")
  for _, list in ipairs({ protocol.methods, protocol.notifications, protocol.server_requests }) do
    for _, name in ipairs(list) do
      known[name] = true
    end
  end
  local found = 0
  for _, path in ipairs(vim.fn.glob(vim.env.PLUGIN .. "/lua/agent-lsp/*.lua", true, true)) do
    if vim.fs.basename(path) ~= "protocol.lua" then
      for name in table.concat(vim.fn.readfile(path), "\n"):gmatch('"(agent/[%a/]+)"') do
        found = found + 1
        eq({ path, name, known[name] }, { path, name, true })
      end
    end
  end
  eq(found > 15, true)
end

return T
