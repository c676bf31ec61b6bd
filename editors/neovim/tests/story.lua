--- A run as the server tells it, for goldens: one of everything the tree draws.
local M = {}

local function call(id, tool, args, status, result)
  return { callId = id, tool = tool, args = args, result = status and { status = status, text = result or "" } or nil }
end

M.model = {
  state = "active",
  cycles = {
    {
      id = "m1",
      root = { id = "m1", kind = "direct", text = "Fix the flaky reconnect test" },
      status = "active",
      steps = {
        { type = "non-steer", id = "m1", text = "Fix the flaky reconnect test" },
        {
          type = "ai-block",
          text = { kind = "reasoning", id = "r1", text = "The test may sleep.\nI should look." },
          groups = {},
        },
        {
          type = "ai-block",
          text = { kind = "assistant", id = "o1", text = "I'll look at how the **transport** retries, then at the `test`." },
          groups = {
            {
              type = "read-group",
              calls = {
                call("c1", "read", { path = "net/transport.go" }, "ok", "func retry() {}\n"),
                call("c2", "read", { path = "dial.go" }, "ok", "x"),
                call("c3", "read", { path = "reconnect_test.go" }, "ok", "x"),
                call("c4", "grep", { pattern = "backoff", path = "net/" }, "ok", "9 lines"),
              },
            },
          },
        },
        { type = "steer", id = "m2", text = "only the client side, please" },
        {
          type = "ai-block",
          text = { kind = "assistant", id = "o2", text = "The test sleeps instead of waiting for the callback.\nSo it waits now." },
          groups = {
            { type = "write-group", calls = {
              call("c5", "edit", { path = "reconnect_test.go" }, "ok"),
              call("c6", "edit", { path = "client.go" }, "ok"),
            } },
            { type = "bash-group", calls = {
              call("c7", "bash", { command = "go test ./net -run Reconnect" }, "error",
                "--- FAIL: TestReconnect (0.51s)\n    reconnect_test.go:41: want connected\nFAIL\nexit status 1\nmore"),
              call("c8", "bash", { command = "rm -rf build" }, "error", "refused"),
              call("c9", "bash", { command = "make release" }),
              call("c10", "bash", { command = "sleep 100" }),
            } },
          },
        },
      },
    },
  },
  queued = { { id = "m3", text = "then run the whole suite\nand commit" } },
  anomalies = {},
}

local function at(ms)
  return ("2026-01-01T10:00:%06.3fZ"):format(ms / 1000)
end

M.meta = {
  cycles = {
    m1 = {
      turnId = "t1", runId = "run-1", state = "running", model = "builtin", iter = 5, max = 40,
      started = at(0), elapsedMs = 0, planId = "p1", contextItems = 14, contextTokens = 6120, contextBudget = 28000,
      plans = { "p1" }, tokens = 18200, costUsd = 0.041,
      notes = { { kind = "retry", text = "the provider is overloaded, trying again" } },
      unread = { "m2" },
    },
  },
  calls = {
    c1 = { title = "net/transport.go", state = "ok", started = at(1000), ms = 80, detail = { summary = "59 lines", paths = { "net/transport.go:210-268" } } },
    c2 = { title = "dial.go", state = "ok", started = at(1000), ms = 120, detail = { summary = "44 lines", paths = { "dial.go:1-44" } } },
    c3 = { title = "reconnect_test.go", state = "ok", started = at(1010), ms = 60, detail = { paths = { "reconnect_test.go:1-90" } } },
    c4 = { title = '"backoff" in net/', state = "ok", started = at(1200), ms = 9, detail = { summary = "9 matches" } },
    c5 = { title = "reconnect_test.go", state = "ok", started = at(3000), ms = 5, detail = { summary = "+6 −2", added = 6, removed = 2 } },
    c6 = { title = "client.go", state = "ok", started = at(3000), ms = 5, detail = { summary = "+1 −1", added = 1, removed = 1 } },
    c7 = { title = "go test ./net -run Reconnect", state = "error", started = at(4000), ms = 4210, ref = "out-17", detail = { summary = "exit 1" } },
    c8 = { title = "rm -rf build", state = "refused", started = at(4000), ms = 0, why = "the person said no: keep it" },
    c9 = { title = "make release", state = "asking", started = at(4000), ms = 0, question = "make release" },
    c10 = { title = "sleep 100", state = "running", started = at(4000), ms = 0 },
  },
}

local function step(goal, status, more)
  return vim.tbl_extend("force", { goal = goal, tools = {}, check = "replied", onFail = "stop", budget = 12, status = status }, more or {})
end

--- A run of several steps that hands questions away, is routed by a tag, and
--- makes room once: the same as in the terminal's goldens.
M.work = {
  model = {
    state = "active",
    cycles = {
      {
        id = "w1",
        root = { id = "w1", kind = "direct", text = "#code fix @dial.go, then tidy up, run the tests and report" },
        status = "active",
        steps = {
          { type = "non-steer", id = "w1", text = "#code fix @dial.go, then tidy up, run the tests and report" },
          {
            type = "ai-block",
            text = { kind = "assistant", id = "o1", text = "Two questions first." },
            groups = {
              { type = "other-group", calls = {
                call("t1", "task", { title = "who calls dial" }, "ok", "three callers\n\nnet/dial.go:12\n"),
                call("t2", "task", { title = "where are timeouts set" }, "error", "the subtask used up its 12 steps"),
                call("t3", "task", { title = "what reads the config" }),
              } },
            },
          },
        },
      },
    },
    queued = {},
    anomalies = {},
  },
  meta = {
    cycles = {
      w1 = {
        turnId = "t1", runId = "run-1", state = "running", model = "sonnet", iter = 3, max = 40, started = at(0), elapsedMs = 0,
        planId = "p1", contextItems = 14, contextTokens = 6100, contextBudget = 28000, plans = { "p1" }, tokens = 15700, costUsd = 0.038,
        notes = { { kind = "compaction", text = "3 items of 8.1k tokens left the context for a summary of 340", ref = "history-1" } },
        unread = {},
        route = "READ, SEARCH, WRITE", routeWhy = "#code named them",
        chips = { { kind = "tag", text = "#code", detail = "read, search and change files" }, { kind = "mention", text = "@dial.go", detail = "path" } },
        workflow = {
          goal = "fix dial.go, then tidy up, run the tests and report", status = "running", method = "rules",
          steps = {
            step("fix @dial.go", "done"),
            step("tidy up", "skipped", { onFail = "skip", note = "no file was changed" }),
            step("run the tests", "running", { onFail = "retry", try = 2, started = 1 }),
            step("report", "pending"),
          },
        },
      },
    },
    calls = {
      t1 = { title = "who calls dial", state = "ok", started = at(1000), ms = 2100, detail = { summary = "3 lines" },
        subtask = { id = "sub-t1", iter = 2, max = 12, model = "sonnet", calls = { "grep dial", "read net/dial.go" }, asked = 2, tokens = 8700, costUsd = 0.025, done = true } },
      t2 = { title = "where are timeouts set", state = "error", started = at(1000), ms = 9000,
        subtask = { id = "sub-t2", iter = 1, max = 12, model = "sonnet", calls = { "grep timeout" }, asked = 1, tokens = 3900, costUsd = 0.011, done = false } },
      t3 = { title = "what reads the config", state = "running", started = at(12000), ms = 0,
        subtask = { id = "sub-t3", iter = 1, max = 12, model = "sonnet", calls = { "read config.go" }, asked = 1, tokens = 3100, costUsd = 0.002, done = false } },
    },
  },
}

M.options = {
  width = 96,
  now = 1767261600000 + 12400, -- 12.4 s after the run began
  pending = { c5 = 2, c6 = 1 },
}

--- A copy that a test may change.
---@param of { model: agent_lsp.Model, meta: agent_lsp.CyclesMeta }? the first story if not said
function M.copy(of)
  of = of or M
  return vim.deepcopy(of.model), vim.deepcopy(of.meta), vim.deepcopy(M.options)
end

return M
