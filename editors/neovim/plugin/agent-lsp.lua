--- Commands. Nothing is loaded until one of them is used or setup is called.
if vim.g.loaded_agent_lsp or vim.fn.has("nvim-0.10") == 0 then
  return
end
vim.g.loaded_agent_lsp = true

local function agent()
  return require("agent-lsp")
end

---@param name string
---@param run fun(c: vim.api.keyset.create_user_command.command_args)
---@param opts vim.api.keyset.user_command
local function command(name, run, opts)
  vim.api.nvim_create_user_command(name, run, opts)
end

local function models(lead)
  local s = require("agent-lsp.client").current
  local out = {}
  for _, m in ipairs(s and s.models or {}) do
    for _, name in ipairs({ m.name, m.alias }) do
      if name and name ~= "" and vim.startswith(name, lead) then
        out[#out + 1] = name
      end
    end
  end
  return out
end

command("Agent", function(c)
  agent().ask(c.args, c.range > 0 and { c.line1, c.line2 } or nil)
end, { nargs = "*", range = true, desc = "Ask the agent; a range goes along" })

command("AgentToggle", function()
  agent().toggle()
end, { desc = "Open or close the agent's panel" })

for name, decision in pairs({ AgentAccept = "accept", AgentReject = "reject" }) do
  command(name, function(c)
    agent().resolve(decision, {
      all = c.bang,
      lines = not c.bang and c.range > 0 and { c.line1, c.line2 } or nil,
      reason = c.args ~= "" and c.args or nil,
    })
  end, {
    bang = true,
    range = true,
    nargs = decision == "reject" and "*" or 0,
    desc = ("%s the hunk under the cursor, with ! all, with a range those in it"):format(decision == "accept" and "Accept" or "Reject"),
  })
end

command("AgentNext", function()
  agent().go(1)
end, { desc = "Go to the next hunk" })

command("AgentPrev", function()
  agent().go(-1)
end, { desc = "Go to the previous hunk" })

command("AgentReview", function()
  agent().review()
end, { desc = "List all hunks to review in the quickfix window" })

command("AgentHunk", function()
  agent().hunk()
end, { desc = "Show both texts of the hunk under the cursor" })

command("AgentPause", function()
  agent().pause()
end, { desc = "Pause the run before its next step" })

command("AgentResume", function()
  agent().resume()
end, { desc = "Resume the paused run" })

command("AgentCancel", function()
  agent().cancel()
end, { desc = "Stop the run at once" })

command("AgentApprove", function()
  agent().approve()
end, { desc = "Carry the proposed workflow out" })

command("AgentEscalate", function(c)
  agent().escalate(c.fargs[1], table.concat(c.fargs, " ", 2))
end, { nargs = "*", complete = models, desc = "Give the run another model from its next call on" })

command("AgentContext", function()
  agent().context()
end, { desc = "Show what the model was given, and why" })

command("AgentTrace", function()
  agent().trace()
end, { desc = "Show the latest turn's calls" })

command("AgentSessions", function()
  agent().sessions()
end, { desc = "Choose a session" })

command("AgentBranches", function(c)
  agent().branches(c.fargs[1] or "", table.concat(c.fargs, " ", 2))
end, {
  nargs = "*",
  complete = function(lead, line)
    return require("agent-lsp.branches").complete(lead, line)
  end,
  desc = "Choose a branch of the session; or fork, switch, adopt, compare",
})

command("AgentUndoTurn", function(c)
  agent().undo_turn(c.args)
end, {
  nargs = "?",
  complete = function(lead)
    return vim.tbl_filter(function(w)
      return vim.startswith(w, lead)
    end, { "files", "conversation", "both", "preview", "redo" })
  end,
  desc = "Put files, the conversation or both back as they stood before the latest turn: chosen, or as said; preview, or redo",
})

command("AgentUndoReject", function()
  agent().undo_reject()
end, { desc = "Bring the hunks of the last reject back" })

command("AgentModel", function(c)
  agent().model(c.fargs[1])
end, { nargs = "?", complete = models, desc = "Choose the session's model" })
