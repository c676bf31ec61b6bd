local MiniTest = require("mini.test")
local model = require("agent-lsp.model")
local eq = MiniTest.expect.equality

local T = MiniTest.new_set()

local function read(path)
  -- as Neovim's LSP client decodes
  return vim.json.decode(table.concat(vim.fn.readfile(path), "\n"), { luanil = { object = true } })
end

-- the corpus is the server's own: its Reduce is held to the same files
local corpus = vim.fn.glob(vim.env.PLUGIN .. "/../../cycle/testdata/corpus/*.json", true, true)

T["the corpus is there"] = function()
  eq(#corpus >= 13, true)
end

for _, path in ipairs(corpus) do
  T["corpus: " .. vim.fs.basename(path)] = function()
    local story = read(path)
    local m = model.new()
    for _, ops in ipairs(story.ops) do
      eq(model.reduce(m, ops), nil)
    end
    eq(m, story.model)
  end
end

T["all ops at once give the same"] = function()
  for _, path in ipairs(corpus) do
    local story = read(path)
    local m, all = model.new(), {}
    for _, ops in ipairs(story.ops) do
      vim.list_extend(all, ops)
    end
    eq(model.reduce(m, all), nil)
    eq(m, story.model)
  end
end

local open = { op = "cycle", cycle = "m1", kind = "direct", text = "go" }
local block = { op = "step", cycle = "m1", step = 1, type = "ai-block", kind = "assistant", id = "o1", text = "" }
local misfits = {
  { "a second cycle", { open, { op = "cycle", cycle = "m2", kind = "direct", text = "" } }, "a cycle is active already" },
  { "another cycle", { open, { op = "status", cycle = "m2", status = "completed" } }, 'cycle "m2" is not the active one' },
  { "nothing open", { { op = "text", cycle = "m1", step = 0, text = "x" } }, "not the active one" },
  { "a step too far", { open, { op = "step", cycle = "m1", step = 5, type = "steer", id = "x", text = "" } }, "step 5 can't follow 1 steps" },
  { "text of no step", { open, { op = "text", cycle = "m1", step = 9, text = "x" } }, "there is no step 9" },
  { "a call of a user step", { open, { op = "call", cycle = "m1", step = 0, group = 0, call = 0, type = "bash-group", callId = "c", tool = "bash" } }, "step 0 is no ai-block" },
  { "a group too far", { open, block, { op = "call", cycle = "m1", step = 1, group = 3, call = 0, type = "bash-group", callId = "c", tool = "bash" } }, "group 3 can't follow 0 groups" },
  { "a call too far", { open, block, { op = "call", cycle = "m1", step = 1, group = 0, call = 4, type = "bash-group", callId = "c", tool = "bash" } }, "there is no group 0" },
  { "a result of no call", { open, block, { op = "result", cycle = "m1", step = 1, group = 0, call = 0, status = "ok", text = "" } }, "there is no group 0" },
  { "feedback without a round", { open, { op = "feedback", cycle = "m1", id = "x" } }, "the cycle has no round" },
  { "an empty queue", { { op = "pop" } }, "the queue is empty" },
  { "an unknown op", { open, { op = "later", cycle = "m1" } }, "unknown kind of op" },
}

for _, case in ipairs(misfits) do
  T["an op that doesn't fit is said: " .. case[1]] = function()
    local fault = model.reduce(model.new(), case[2])
    eq(type(fault), "string")
    eq(fault:find(case[3], 1, true) ~= nil, true)
  end
end

T["a model without rounds takes ops of rounds"] = function()
  local m = model.from({ state = "active", cycles = { { id = "m1", status = "active", root = open, steps = { {} } } } })
  eq(model.reduce(m, { { op = "round", cycle = "m1", n = 1, input = { "m1" } }, { op = "output", cycle = "m1", id = "o" } }), nil)
  eq(m.cycles[1].rounds, nil)
end

T["meta ops replace entries"] = function()
  local meta = model.new_meta()
  model.reduce_meta(meta, {
    { cycle = "m1", cycleMeta = { state = "running" } },
    { call = "c1", callMeta = { state = "ok" } },
    { cycle = "m1", cycleMeta = { state = "done" } },
  })
  eq(meta, { cycles = { m1 = { state = "done" } }, calls = { c1 = { state = "ok" } } })
end

return T
