--- Questions come and go in every order.
local MiniTest = require("mini.test")
local permission = require("agent-lsp.permission")
local eq = MiniTest.expect.equality

local T = MiniTest.new_set()

local params = {
  runId = "r",
  toolCallId = "c1",
  tool = "bash",
  title = "make",
  detail = "",
  options = { { id = "yes", kind = "allow_once", name = "Allow once" }, { id = "no", kind = "reject_once", name = "No" } },
}

--- Asks; states are what the tree says before and after the question came.
local function ask(before, after)
  local s = { meta = { calls = {} } }
  local answer
  local function tree(state)
    s.meta.calls.c1 = { state = state }
    permission.refresh(s)
  end
  for _, state in ipairs(before) do
    tree(state)
  end
  coroutine.wrap(function()
    answer = permission.ask(s, params)
  end)()
  for _, state in ipairs(after) do
    tree(state)
  end
  vim.wait(50, function()
    return answer ~= nil
  end, 5)
  local floats = vim.tbl_filter(function(w)
    return vim.api.nvim_win_get_config(w).relative ~= ""
  end, vim.api.nvim_list_wins())
  local out = { answered = answer ~= nil, shown = #floats }
  tree("cancelled") -- nothing is left for the next case
  vim.wait(20)
  return out
end

local stays, goes = { answered = false, shown = 1 }, { answered = true, shown = 0 }

for name, case in pairs({
  ["waits while it is asked"] = { {}, { "running", "asking" }, stays },
  ["waits when the tree spoke first"] = { { "running", "asking" }, {}, stays },
  ["waits when the tree doesn't know the call yet"] = { {}, {}, stays },
  ["goes when another client answered"] = { {}, { "asking", "running" }, goes },
  ["goes when the tree spoke first and the run was cancelled"] = { { "asking" }, { "cancelled" }, goes },
  ["goes when the cancel overtook it"] = { { "asking", "cancelled" }, {}, goes },
  ["goes when it was refused in time"] = { {}, { "asking", "refused" }, goes },
}) do
  T[name] = function()
    eq(ask(case[1], case[2]), case[3])
  end
end

return T
