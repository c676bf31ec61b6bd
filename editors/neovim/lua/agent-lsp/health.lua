--- :checkhealth agent-lsp
local M = {}

function M.check()
  local health = vim.health
  local config = require("agent-lsp.config")
  health.start("agent-lsp: editor")
  if vim.fn.has("nvim-0.10") == 1 then
    health.ok("Neovim " .. tostring(vim.version()))
  else
    health.error("Neovim 0.10 or newer is needed")
  end
  if #config.unknown > 0 then
    health.warn("setup was given names that it doesn't know: " .. table.concat(config.unknown, ", "), "see :help agent-lsp-setup")
  end
  local missing = require("agent-lsp.inline").missing_keys()
  if #missing > 0 then
    health.warn("these keys are yours already and are left to you: " .. table.concat(missing, ", "), "name others in setup{keys = …}, or use the commands")
  else
    health.ok("the keys for review are free")
  end

  health.start("agent-lsp: server")
  local cmd, from = config.command()
  if not cmd then
    health.error("there is no program agent-lsp (looked in " .. from .. ")", {
      "build it: go build -o bin/agent-lsp ./cmd/agent-lsp, and put it on PATH",
      'or name it: require("agent-lsp").setup({ cmd = "/path/to/agent-lsp" })',
    })
    return
  end
  health.ok(("found %s (from %s)"):format(cmd[1], from))
  local version = vim.fn.system({ cmd[1], "version" })
  if vim.v.shell_error == 0 then
    health.ok("version " .. vim.trim(version))
  else
    health.error("it doesn't start: " .. vim.trim(version), { "run it in a terminal: " .. cmd[1] .. " version" })
    return
  end
  local client = require("agent-lsp.client")
  for _, message in ipairs(client.said) do
    health.info("said: " .. message)
  end
  local s = client.of()
  if not s or not s.client_id then
    health.info("it doesn't run yet: it starts with the first file of a project, or with :Agent")
    return
  end
  health.ok("it runs for " .. s.root)

  health.start("agent-lsp: project")
  local done = false
  s.gate.request("agent/status", s:ref(), function(err, r)
    if err then
      health.error("it doesn't answer: " .. client.explain(err))
    else
      local i = r.index
      if i.state == "ready" then
        health.ok(("the index is ready: %d files, %d chunks"):format(i.files, i.chunks))
      elseif i.state == "indexing" then
        health.info(("the index is being made: %d of %d files; questions can be asked already"):format(i.done, i.total))
      else
        health.warn(("the index is %s: %s"):format(i.state, i.message or ""), "searching reads the files instead; agent-lsp doctor says more")
      end
      if r.model == "" then
        health.warn("there is no model", { ":AgentModel lists what can be chosen", "the built-in model needs nothing: set model = \"builtin\"" })
      else
        health.ok("the model is " .. r.model)
      end
    end
    done = true
  end)
  if not vim.wait(5000, function()
    return done
  end, 20) then
    health.error("it didn't answer within 5 seconds", "see :lua vim.cmd.edit(vim.lsp.get_log_path())")
    return
  end
  local listed = false
  s.gate.request("agent/models", vim.empty_dict(), function(_, r)
    for _, m in ipairs(r and r.models or {}) do
      health.info(("model %s: %s%s"):format(m.name, m.available and "available" or "not available", (m.why or "") ~= "" and ", " .. m.why or ""))
    end
    listed = true
  end)
  vim.wait(5000, function()
    return listed
  end, 20)
end

return M
