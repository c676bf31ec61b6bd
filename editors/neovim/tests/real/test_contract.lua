--- What the plugin promises by name: setup, status, commands, keys, queue,
--- signs, and what is left after a crash of the editor.
local MiniTest = require("mini.test")
local eq = MiniTest.expect.equality
local it, child

local T = MiniTest.new_set({
  hooks = {
    pre_case = function()
      it = require("child").new()
      child = it.child
      it.start()
      it.ready()
    end,
    post_case = function()
      it.stop()
    end,
  },
})

local function status()
  return child.lua_get([[require("agent-lsp").status()]])
end

--- A test of the project that runs until a file is there.
local function endless_test()
  vim.fn.writefile({
    "package greeting",
    "",
    'import ("os"; "testing"; "time")',
    "",
    "func TestHello(t *testing.T) {",
    '\tos.WriteFile("began", nil, 0o600)',
    '\tfor _, err := os.Stat("free"); err != nil; _, err = os.Stat("free") {',
    "\t\ttime.Sleep(5 * time.Millisecond)",
    "\t}",
    "}",
  }, it.root .. "/greet_test.go")
end

T["setup{} without arguments finds the server on PATH, else in the checkout"] = function()
  local function found(path)
    child.restart({ "-u", "NONE", "--cmd", "set rtp^=" .. vim.env.PLUGIN })
    child.fn.setenv("PATH", path)
    child.fn.chdir(it.root)
    child.cmd("runtime plugin/agent-lsp.lua")
    child.lua([[require("agent-lsp").setup({})]])
    return child.lua_get([[{ require("agent-lsp.config").command() }]])
  end
  local dir = it.root .. "/bin"
  vim.fn.mkdir(dir)
  vim.uv.fs_symlink(vim.env.BIN, dir .. "/agent-lsp")
  eq(found(dir .. ":" .. vim.env.PATH), { { dir .. "/agent-lsp", "serve" }, "PATH" })
  child.cmd("edit greet.go")
  it.ready()
  child.cmd("Agent where is an empty name replaced?")
  it.tree_has("greet%.go:%d+")
  local built = vim.fs.normalize(vim.env.PLUGIN .. "/../../bin/agent-lsp")
  local want = vim.fn.executable(built) == 1 and { built, "serve" } or vim.NIL
  eq(found("/nowhere")[1], want)
end

T["status() in every state"] = function()
  endless_test()
  child.restart({ "-u", "NONE", "--cmd", "set rtp^=" .. vim.env.PLUGIN })
  eq(status(), { state = "idle", pending = 0, model = "", elapsed = 0 })
  it.start()
  eq(status().state == "starting" or status().state == "idle", true)
  it.ready()
  local function fields(want)
    local s = status()
    eq({ s.state, s.pending, s.model, s.elapsed > 0 }, want)
  end
  it.wait([[require("agent-lsp").status().model ~= ""]])
  fields({ "idle", 0, "builtin", false })
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  fields({ "idle", 3, "builtin", false })
  child.cmd("Agent run the tests")
  it.state("waiting")
  fields({ "waiting", 3, "builtin", true })
  it.answer("y")
  it.wait(([[vim.uv.fs_stat(%q) ~= nil]]):format(it.root .. "/began"), nil, 120000)
  it.state("running")
  fields({ "running", 3, "builtin", true })
  eq({ status().iter > 0, status().max }, { true, 40 })
  eq(child.lua_get([[require("agent-lsp").statusline():match("^agent ● %d+/40 builtin %d+m?%d*s$") ~= nil]]), true)
  child.cmd("AgentPause")
  it.state("paused")
  fields({ "paused", 3, "builtin", true })
  eq(child.lua_get([[require("agent-lsp").statusline()]]), "agent ⏸ paused")
  vim.fn.writefile({}, it.root .. "/free")
  it.tree_has("⏸ paused before step")
  child.cmd("AgentResume")
  it.state("idle")
  fields({ "idle", 3, "builtin", false })
end

T["status() of a server that can't run: neither starting for ever nor silent"] = function()
  local program = it.root .. "/broken"
  vim.fn.writefile({ "#!/bin/sh", "exit 3" }, program)
  vim.uv.fs_chmod(program, tonumber("755", 8))
  it.start(("{ cmd = %q }"):format(program))
  it.said("the server ended 4 times within a minute (exit 3, signal 0)")
  eq(status().state, "idle")
  eq(child.lua_get([[require("agent-lsp").statusline()]]), "agent ⚠ not running")
  vim.fn.delete(program)
  vim.uv.fs_symlink(vim.env.BIN, program)
  child.cmd("AgentToggle")
  it.ready()
  eq(child.lua_get([[require("agent-lsp").statusline()]]), "agent ○")
end

T["a long message stops nobody for a key; :checkhealth has the whole"] = function()
  child.restart({ "--clean", "-n", "--cmd", "set rtp^=" .. vim.env.PLUGIN }) -- Neovim's own vim.notify
  child.o.columns = 70
  local long = ("a long story "):rep(30)
  child.lua(([[require("agent-lsp.client").say(%q, vim.log.levels.WARN)]]):format(long))
  it.sees("agent%-lsp: a long story a long story.*…")
  eq(child.api.nvim_get_mode(), { mode = "n", blocking = false })
  child.lua([[require("agent-lsp.client").say("short")]])
  it.sees("agent%-lsp: short")
  eq(child.lua_get([[require("agent-lsp.client").said]]), { long, "short" })
end

T["without a server :Agent and :checkhealth say what to do"] = function()
  it.start([[{ cmd = "/nowhere/agent-lsp" }]])
  child.cmd("Agent hello")
  it.said("there is no program agent-lsp (looked in setup{cmd")
  eq(status().state, "idle")
  child.cmd("checkhealth agent-lsp")
  local text = table.concat(it.lines(), "\n")
  eq({ text:find("ERROR there is no program agent%-lsp") ~= nil, text:find("go build %-o bin/agent%-lsp") ~= nil }, { true, true })
end

T["a reject's reason is kept with the decision: of all, of a range"] = function()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  local turn = child.lua_get([[require("agent-lsp.client").current.hunks[vim.uri_from_bufnr(0)][1].turnId]])
  child.cmd("1,8AgentReject the greeting stays")
  it.pending(2)
  child.cmd("AgentReject! nothing of this, please")
  it.pending(0)
  child.lua(([[
    local s = require("agent-lsp.client").current
    s.gate.request("agent/outcome", s:ref({ turnId = %q }), function(_, r)
      vim.g.reasons = vim.tbl_map(function(d) return d.reason end, r.decisions)
    end)
  ]]):format(turn))
  it.wait("vim.g.reasons ~= nil")
  local reasons = child.g.reasons
  table.sort(reasons)
  eq(reasons, { "nothing of this, please", "nothing of this, please", "the greeting stays" })
  eq(it.lines()[12], "func clean(name string) string {")
end

T["enter = followUp swaps the keys while a run is going on"] = function()
  it.start([[{ enter = "followUp" }]])
  it.ready()
  child.cmd("Agent run the tests")
  it.state("waiting")
  child.lua("require('agent-lsp.prompt').focus()")
  it.sees("Enter follow%-up · Alt%+Enter steer")
  child.type_keys("list the files<CR>")
  it.tree_has("○ queued: list the files")
  child.lua("require('agent-lsp.prompt').focus()")
  child.type_keys("only greet_test.go<M-CR>")
  it.tree_has("↳ you: only greet_test.go")
  child.type_keys("<Esc>")
end

T["a range goes along with the question; without a question it waits in the prompt"] = function()
  child.cmd("11,17Agent what does this do?")
  it.tree_has("◇ context")
  it.state("idle")
  child.cmd("AgentContext")
  it.wait("vim.api.nvim_buf_get_name(0):find('agent%-lsp://context$') ~= nil")
  eq(table.concat(it.lines(), "\n"):find("\n%w+ +focus +greet%.go:11%-17 ") ~= nil, true)
  -- pinned from there, it is those lines and no more
  child.fn.search("greet.go:11-17", "w")
  child.type_keys("p")
  it.said("greet.go:11-17 is pinned")
  child.cmd("close")
  child.cmd("buffer greet.go")
  child.cmd("6,9Agent")
  it.sees("greet%.go:6%-9  Enter send")
  child.type_keys("who calls this?<CR>")
  it.tree_has("▾ who calls this%?")
  it.wait([[#require("agent-lsp.prompt").attachments == 0]])
  it.state("idle")
  child.type_keys("<Esc>")
  child.cmd("AgentContext")
  it.wait([[table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n"):find("\nin +pinned +greet%.go:11%-17 ") ~= nil]])
  eq(table.concat(it.lines(), "\n"):find("\n%w+ +focus +greet%.go:6%-9 ") ~= nil, true)
end

T["keys of setup hold, false leaves one unset, <leader> is named in the hint"] = function()
  it.start([[{ keys = { accept = "ga", next = false, reject = "<leader>x" } }]])
  it.ready()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  it.wait("vim.fn.maparg('ga', 'n') ~= ''")
  eq({ child.fn.maparg("]x", "n"), child.fn.maparg("<leader>ay", "n") }, { "", "" })
  child.fn.cursor(8, 1)
  child.cmd("doautocmd CursorMoved")
  it.sees("hunk 1 of 3 · ga accept · ␣x reject")
  child.type_keys("ga")
  it.pending(2)
  child.cmd("AgentNext")
  child.type_keys(" x")
  it.pending(1)
  child.cmd("AgentReject!")
  it.pending(0)
  it.wait("vim.fn.maparg('ga', 'n') == ''")
end

T["older messages are there after the editor was closed"] = function()
  child.cmd("Agent who calls Hello?")
  it.tree_has("◇ context")
  it.state("idle")
  it.start()
  it.ready()
  child.cmd("AgentToggle")
  it.tree_has("who calls Hello")
  child.type_keys("<C-p>")
  it.wait("require('agent-lsp.prompt').text() == 'who calls Hello?'")
end

T["the queue: edited, moved, removed; a stop holds it, visibly, until resumed"] = function()
  child.cmd("Agent run the tests")
  it.state("waiting")
  for _, words in ipairs({ "list the files", "who calls Hello?", "who calls clean?" }) do
    child.lua(([[require("agent-lsp").submit(%q, { delivery = "followUp" })]]):format(words))
    it.tree_has("○ queued: " .. words:gsub("%?", "%%?"))
  end
  local function queue(want)
    it.wait(([[vim.deep_equal(vim.tbl_map(function(q) return q.text end, require("agent-lsp.client").current.model.queued), %s)]]):format(vim.inspect(want)))
  end
  it.go_to_row("queued: who calls clean")
  child.type_keys("K")
  queue({ "list the files", "who calls clean?", "who calls Hello?" })
  it.tree_has("list the files.*clean.*Hello")
  it.go_to_row("queued: list the files")
  child.type_keys("dd")
  queue({ "who calls clean?", "who calls Hello?" })
  child.lua([[vim.ui.input = function(opts, done) vim.g.was = opts.default; done("who calls Twice?") end]])
  it.tree_lacks("queued: list the files")
  it.go_to_row("queued: who calls Hello")
  child.type_keys("<CR>")
  queue({ "who calls clean?", "who calls Twice?" })
  eq(child.g.was, "who calls Hello?")
  child.cmd("AgentCancel")
  it.tree_has("▾ who calls clean%?.*⏸ paused before step 1 of 40") -- the head's turn has come; it is held
  it.tree_has("⏸ the queue waits since you stopped the run%s+%[r%] resume")
  it.state("paused")
  queue({ "who calls Twice?" })
  it.go_to_row("the queue waits")
  child.type_keys("r")
  it.wait([[(function()
    local s = require("agent-lsp.client").current
    return #s.model.cycles == 3 and s.model.cycles[3].status == "completed"
  end)()]])
  queue({})
end

T["a conflict shows both texts: in the file, in a float, in the list"] = function()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  child.fn.cursor(8, 1)
  child.type_keys("A // mine<Esc>")
  it.sees("clean%(name%)%).*! +return fmt.*tidy%(name%)%) // mine")
  it.sees("hunk 1 of 3 · conflict: you changed these lines too")
  it.wait([[require("agent-lsp.client").current:all_hunks()[1].newText:find("// mine", 1, true) ~= nil]]) -- all that was typed
  child.cmd("AgentHunk")
  it.sees("before the agent:.*clean%(name%).*from the agent, with your changes:.*tidy%(name%)%) // mine")
  child.cmd("AgentReview")
  eq(child.fn.getqflist()[1].text:find("^conflict") ~= nil, true)
  eq(child.fn.getqflist()[1].type, "W")
end

T["signs without Unicode: no view shows another character of ours"] = function()
  it.start("{ ascii = true }")
  it.ready()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  child.cmd("Agent run the tests")
  it.state("waiting")
  child.lua([[require("agent-lsp").submit("list the files", { delivery = "followUp" })]])
  it.tree_has("o queued: list the files")
  child.fn.cursor(8, 1)
  child.cmd("doautocmd CursorMoved")
  child.lua([[
    local panel, inline, list = require("agent-lsp.panel"), require("agent-lsp.inline"), require("agent-lsp.review_list")
    local said = vim.api.nvim_buf_get_lines(panel.buf, 0, -1, false)
    vim.list_extend(said, { require("agent-lsp").statusline(), panel.title(), require("agent-lsp.prompt").title() })
    for _, m in ipairs(vim.api.nvim_buf_get_extmarks(vim.fn.bufnr("greet.go"), inline.NS, 0, -1, { details = true })) do
      said[#said + 1] = vim.inspect({ m[4].sign_text, m[4].virt_text, m[4].virt_lines })
    end
    for _, item in ipairs(list.items((require("agent-lsp.client").current:all_hunks()), true)) do
      said[#said + 1] = item.text
    end
    for _, win in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(win).relative ~= "" then
        vim.list_extend(said, vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false))
      end
    end
    vim.g.beyond = vim.tbl_filter(function(line) return line:find("[\128-\255]") ~= nil end, said)
    vim.g.lines = #said
  ]])
  eq(child.g.beyond, {})
  eq(child.g.lines > 20, true)
  child.cmd("AgentCancel")
end

T["kill -9 of Neovim: tree, hunks, draft and the cut-off question are there again"] = function()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  local marks = it.marks("deleted", 1)
  child.cmd("wall")
  child.cmd("Agent run the tests")
  it.state("waiting")
  child.lua("require('agent-lsp.prompt').focus()")
  child.type_keys("a draft<Esc>")
  vim.uv.kill(child.fn.getpid(), "sigkill")
  it.start()
  it.ready()
  it.pending(3)
  it.wait("#vim.api.nvim_buf_get_extmarks(0, require('agent-lsp.inline').NS, 0, -1, {}) > 0")
  eq(it.marks("deleted", 1), marks)
  child.cmd("AgentToggle")
  it.tree_has("rename the function")
  it.tree_has("▾ run the tests")
  it.wait("require('agent-lsp.prompt').text() == 'a draft'")
end

return T
