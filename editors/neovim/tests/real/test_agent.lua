local MiniTest = require("mini.test")
local eq = MiniTest.expect.equality
local it = require("child").new()
local child = it.child

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

local function go_to(text)
  child.fn.search(text, "w")
  child.cmd("doautocmd CursorMoved")
end

T["loads nothing before it is used"] = function()
  child.restart({ "-u", "NONE", "--cmd", "set rtp^=" .. vim.env.PLUGIN })
  child.cmd("runtime plugin/agent-lsp.lua")
  eq(child.lua_get([[vim.tbl_filter(function(m) return m:match("^agent%-lsp") end, vim.tbl_keys(package.loaded))]]), {})
  local names = {
    "Agent", "AgentToggle", "AgentAccept", "AgentReject", "AgentNext", "AgentPrev", "AgentReview", "AgentPause", "AgentResume", "AgentCancel",
    "AgentEscalate", "AgentContext", "AgentTrace", "AgentSessions", "AgentBranches", "AgentUndoTurn", "AgentUndoReject", "AgentModel", "AgentHunk", "AgentApprove",
  }
  for _, name in ipairs(names) do
    eq({ name, child.fn.exists(":" .. name) }, { name, 2 })
  end
end

T["a question grows a tree and is answered with places"] = function()
  local before = it.lines()
  child.cmd("Agent where is an empty name replaced?")
  it.tree_has("▾ where is an empty name")
  it.tree_has("◇ context  %d+ items? · ")
  it.state("idle")
  it.tree_has("greet%.go:%d+")
  require("golden").equal("screen-file", it.window())
  eq(it.lines(), before)
  eq(it.marks(), {})
  local status = child.lua_get([[require("agent-lsp").status()]])
  eq({ status.state, status.pending, status.model }, { "idle", 0, "builtin" })
  eq(child.lua_get([[require("agent-lsp").statusline()]]), "agent ○")
end

T["edits are hunks: one accepted by key, one rejected by command, undo, saved"] = function()
  local before = it.lines()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  it.wait("#vim.api.nvim_buf_get_extmarks(0, require('agent-lsp.inline').NS, 0, -1, {}) > 0")
  eq(it.lines()[8], '\treturn fmt.Sprintf("Hello, %s!", tidy(name))')
  it.sees("agent ⧗ 3 hunks")
  eq(it.marks("added")[1], { 7, "added", "+ " })
  eq(it.marks("deleted")[1], { 7, "deleted", '        return fmt.Sprintf("Hello, %s!", clean(name))' })
  -- nothing under the cursor: nothing happens
  child.fn.cursor(1, 1)
  child.cmd("AgentAccept")
  it.wait("vim.g.said[#vim.g.said] ~= nil and vim.g.said[#vim.g.said]:find('no hunk under the cursor') ~= nil")
  it.pending(3)
  -- ]x goes to the first, <leader>ay accepts it
  child.type_keys("]x")
  eq(child.fn.line("."), 8)
  it.sees("hunk 1 of 3 · ␣ay accept")
  require("golden").equal("screen-hunks", it.window())
  child.type_keys(" ay")
  it.pending(2)
  eq(it.lines()[8], '\treturn fmt.Sprintf("Hello, %s!", tidy(name))')
  -- the last is rejected by command, with a reason
  child.cmd("$")
  child.cmd("AgentPrev")
  eq(child.fn.line("."), 21)
  child.cmd("AgentReject Twice stays as it is")
  it.pending(1)
  it.wait([[vim.api.nvim_buf_get_lines(0, 20, 21, false)[1] == "\treturn Hello(clean(name)) + Hello(clean(name))"]])
  -- one undo takes back the agent's reverting, and nothing else
  child.type_keys("u")
  it.wait([[vim.api.nvim_buf_get_lines(0, 20, 21, false)[1] == "\treturn Hello(tidy(name)) + Hello(tidy(name))"]])
  child.type_keys("<C-r>")
  it.wait([[vim.api.nvim_buf_get_lines(0, 20, 21, false)[1] == "\treturn Hello(clean(name)) + Hello(clean(name))"]])
  child.cmd("AgentAccept!")
  it.pending(0)
  it.wait("#vim.api.nvim_buf_get_extmarks(0, require('agent-lsp.inline').NS, 0, -1, {}) == 0")
  child.cmd("write")
  local want = vim.deepcopy(before)
  want[8] = '\treturn fmt.Sprintf("Hello, %s!", tidy(name))'
  want[11] = "// tidy makes a name fit for a greeting."
  want[12] = "func tidy(name string) string {"
  eq(it.disk("greet.go"), want)
  eq(child.fn.maparg("]x", "n"), "")
end

T["a buffer that was clean is saved after an edit, one with unsaved changes is not"] = function()
  child.cmd("edit greet_test.go")
  child.type_keys("ggOa line of mine<Esc>")
  child.cmd("edit greet.go")
  it.wait("not vim.bo.modified")
  child.cmd("Agent rename the function Hello to Greet everywhere")
  it.state("idle")
  it.wait("require('agent-lsp').status().pending > 2")
  it.wait("not vim.bo.modified")
  eq(it.disk("greet.go"), it.lines())
  eq(it.lines()[7], "func Greet(name string) string {")
  eq(it.disk("greet_test.go")[1], "package greeting") -- the person's line stays unsaved
  child.cmd("buffer greet_test.go")
  eq(it.lines()[1], "a line of mine")
  it.wait([[table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), " "):find("Greet%(") ~= nil]])
  eq(child.bo.modified, true)
  -- rejected hunks leave the disk, too
  child.cmd("AgentReject!")
  it.pending(0)
  child.cmd("buffer greet.go")
  it.wait("not vim.bo.modified")
  eq(it.disk("greet.go")[7], "func Hello(name string) string {")
  child.cmd("AgentUndoReject")
  it.wait([[vim.api.nvim_buf_get_lines(0, 6, 7, false)[1] == "func Greet(name string) string {"]])
  it.wait("require('agent-lsp').status().pending > 2")
end

T["a turn is put back, shown beforehand, and comes again"] = function()
  local before = it.lines()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  local after = it.lines()
  child.cmd("AgentUndoTurn preview")
  it.wait([[(vim.g.said[#vim.g.said] or ""):find("would put back greet.go (+4 −4)", 1, true) ~= nil]])
  eq(it.lines(), after)
  child.cmd("AgentUndoTurn both")
  it.wait([[(vim.g.said[#vim.g.said] or ""):find("agent-lsp: put back greet.go (+4 −4), the conversation from before its last turn", 1, true) == 1]])
  eq(it.lines(), before)
  it.wait([[#require("agent-lsp.client").current.model.cycles == 0]])
  child.cmd("AgentUndoTurn redo")
  it.wait([[#require("agent-lsp.client").current.model.cycles == 1]])
  eq(it.lines(), after)
  it.pending(3)
end

--- Somebody sits at a screen and chooses the n-th of what they are offered;
--- what that was is kept in g:offered.
local function choose(n)
  child.lua(([[
    vim.api.nvim_list_uis = function() return { { chan = 1 } } end
    vim.ui.select = function(items, opts, done)
      vim.g.offered = vim.tbl_map(opts.format_item, items)
      done(items[%d])
    end
  ]]):format(n))
end

T["what of a turn is put back is chosen, having read what would change"] = function()
  local before = it.lines()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  choose(1)
  child.cmd("AgentUndoTurn")
  it.wait([[vim.g.offered ~= nil]])
  eq(child.g.offered, { "files: greet.go (+4 −4)", "the conversation from before its last turn", "both" })
  it.said("agent-lsp: put back greet.go (+4 −4)")
  eq(it.lines(), before)
  eq(child.lua_get([[#require("agent-lsp.client").current.model.cycles]]), 1)
end

T["without a screen :AgentUndoTurn puts the files back"] = function()
  local before = it.lines()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  child.cmd("AgentUndoTurn")
  it.said("agent-lsp: put back greet.go (+4 −4)")
  eq(it.lines(), before)
end

T["a branch is forked, works aside, is put beside its parent and adopted"] = function()
  local before = it.lines()
  child.cmd("Agent who calls clean?")
  it.tree_has("◇ context")
  it.state("idle")
  child.cmd("AgentBranches fork idea")
  it.said("idea: forked from main with 1 turn")
  it.wait([[require("agent-lsp.client").current.branch ~= "main"]])
  it.state("idle")
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.wait([[#require("agent-lsp.client").current.model.cycles == 2]])
  it.state("idle")
  it.tree_has("edit   1  greet%.go")
  eq(it.lines(), before)
  child.cmd("AgentBranches compare")
  it.wait("vim.api.nvim_buf_get_name(0):find('agent%-lsp://compare$') ~= nil")
  local text = table.concat(it.lines(), "\n")
  eq({ text:find("^ +idea +main") ~= nil, text:find("\nchanged +1 file, %+4 −4 +0 files, %+0 −0") ~= nil, text:find("\n%+func tidy") ~= nil }, { true, true, true })
  child.cmd("close")
  choose(5)
  child.cmd("AgentBranches")
  it.wait([[vim.g.offered ~= nil]])
  eq(vim.list_slice(child.g.offered, 3), { "fork from here", "adopt what this branch has changed", "compare with main" })
  it.wait("vim.api.nvim_buf_get_name(0):find('agent%-lsp://compare$') ~= nil")
  child.cmd("close")
  child.cmd("AgentBranches adopt idea")
  it.said("⧗ greet.go 3 hunks to review (+4 −4)")
  it.pending(3)
  child.cmd("AgentBranches switch main")
  it.wait([[require("agent-lsp.client").current.branch == "main" and #require("agent-lsp.client").current.model.cycles == 1]])
  eq(child.fn.getcompletion("AgentBranches switch i", "cmdline"), { "idea" })
  child.cmd("AgentBranches nonsense")
  it.said("fork, switch, adopt or compare")
end

T["undo takes back the whole edit in one step"] = function()
  local before = it.lines()
  child.type_keys("ggOa line of mine<Esc>")
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  child.cmd("AgentAccept!")
  it.pending(0)
  child.type_keys("u")
  local lines = it.lines()
  eq(lines[1], "a line of mine")
  eq(vim.list_slice(lines, 2), before)
end

T["a range takes the hunks in it"] = function()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  child.cmd("11,12AgentAccept")
  it.wait("require('agent-lsp').status().pending == 2")
  child.cmd("AgentReject!")
  it.pending(0)
  eq(it.lines()[12], "func tidy(name string) string {")
  eq(it.lines()[8], '\treturn fmt.Sprintf("Hello, %s!", clean(name))')
end

T["the list of hunks"] = function()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  child.cmd("AgentReview")
  local list = child.fn.getqflist({ title = 1, items = 1 })
  eq(list.title, "agent: 3 hunks in 1 file")
  eq(#list.items, 3)
  child.type_keys("a")
  it.pending(2)
  it.wait("#vim.fn.getqflist() == 2")
  child.type_keys("r")
  it.pending(1)
end

T["keys of the person's own stay theirs"] = function()
  child.lua([[vim.keymap.set("n", "]x", function() vim.g.mine = true end)]])
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.wait("vim.fn.maparg('[x', 'n') ~= ''")
  child.type_keys("]x")
  eq(child.g.mine, true)
end

T["a run that asks can be paused, resumed and answered"] = function()
  child.cmd("Agent run the tests")
  it.state("waiting")
  it.sees("wants to run")
  it.sees("%[y%] once")
  child.cmd("AgentPause")
  it.state("paused")
  it.sees("agent ⏸ paused")
  it.answer("n")
  it.tree_has("⏸ paused before step")
  it.state("paused")
  child.cmd("AgentResume")
  it.state("idle")
  it.tree_has("refused")
end

T["a command runs once it is allowed"] = function()
  child.cmd("Agent run the tests")
  it.state("waiting")
  it.sees("%[y%] once")
  it.answer("y")
  it.state("idle", 120000) -- go builds its standard library into an empty cache first
  it.tree_has("bash   1  go test")
  eq(it.tree():find("refused"), nil)
end

T["a question doesn't take the keys of somebody who types"] = function()
  child.type_keys("Go")
  child.lua([[require("agent-lsp").ask("run the tests")]])
  it.state("waiting")
  it.sees("%[y%] once")
  child.type_keys("yes and no")
  eq(it.lines()[#it.lines()], "yes and no")
  eq(child.lua_get([[require("agent-lsp").status().state]]), "waiting")
  child.type_keys("<Esc>")
  it.wait("vim.bo.filetype == 'agent-lsp-permission'")
  child.cmd("AgentCancel")
  it.state("idle")
end

T["the editor's own language servers answer the agent"] = function()
  -- a language server inside of the editor, that knows one definition
  child.lua([[
    local function server()
      local closed = false
      return {
        request = function(method, params, done)
          if method == "initialize" then
            done(nil, { capabilities = { definitionProvider = true, positionEncoding = "utf-16" } })
          elseif method == "textDocument/definition" then
            done(nil, { { uri = params.textDocument.uri, range = { start = params.position, ["end"] = params.position } } })
          else
            done(nil, vim.NIL)
          end
          return true, 1
        end,
        notify = function() return true end,
        is_closing = function() return closed end,
        terminate = function() closed = true end,
      }
    end
    vim.lsp.start({ name = "other", cmd = server })
  ]])
  it.wait("#vim.lsp.get_clients({ bufnr = 0, name = 'other' }) == 1 and vim.lsp.get_clients({ bufnr = 0, name = 'other' })[1].initialized == true")
  child.lua([[
    local uri = vim.uri_from_bufnr(0)
    coroutine.wrap(function()
      vim.g.definition = require("agent-lsp.editor").answer({ op = "definition", uri = uri, position = { line = 7, character = 3 } })
      vim.g.hover = require("agent-lsp.editor").answer({ op = "hover", uri = uri, position = { line = 7, character = 3 } }) == vim.NIL
    end)()
  ]])
  it.wait("vim.g.hover == true")
  eq(child.g.definition[1].range.start.line, 7)
end

T["completion of commands and files"] = function()
  child.cmd("AgentToggle")
  child.type_keys("/sta")
  it.wait("vim.fn.pumvisible() == 1 and vim.fn.complete_info({ 'items' }).items[1].word == '/status'")
  eq(child.lua_get("require('agent-lsp.prompt').text()"), "/sta")
  child.type_keys("<C-n><CR>")
  it.wait("require('agent-lsp.prompt').text() == '/status'")
  child.type_keys("<C-u>see @gre")
  it.wait("vim.fn.pumvisible() == 1 and vim.fn.complete_info({ 'items' }).items[1].word:find('greet') ~= nil")
  child.type_keys("<Esc>")
  eq(child.o.completeopt:find("noselect"), nil)
end

T["a hunk whose lines are edited by the person keeps both texts"] = function()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  child.fn.cursor(8, 1)
  child.type_keys("A // mine<Esc>")
  it.wait([[(function()
    for _, h in ipairs((require("agent-lsp.client").current:all_hunks())) do
      if h.newText:find("// mine") or h.status == "conflict" then return true end
    end
    return false
  end)()]])
  child.cmd("AgentReject!")
  it.pending(0)
  local text = table.concat(it.lines(), "\n")
  eq({ text:find("// mine", 1, true) ~= nil, text:find("func clean(name string)", 1, true) ~= nil }, { true, true })
end

T["cancel stops at once and takes the question back"] = function()
  child.cmd("Agent run the tests")
  it.state("waiting")
  it.sees("wants to run")
  child.cmd("AgentCancel")
  it.state("idle")
  it.tree_has("– interrupted")
  it.wait("#vim.tbl_filter(function(w) return vim.api.nvim_win_get_config(w).relative ~= '' end, vim.api.nvim_list_wins()) == 0")
end

T["the prompt: sends, steers, queues, remembers"] = function()
  child.cmd("AgentToggle")
  it.sees("Enter send")
  child.type_keys("run the tests<CR>")
  it.state("waiting")
  it.wait("require('agent-lsp.prompt').text() == ''")
  child.lua("require('agent-lsp.prompt').focus()")
  it.sees("Enter steer · Alt%+Enter follow%-up")
  child.type_keys("only greet_test.go, please<CR>")
  it.tree_has("↳ you: only greet_test.go, please")
  child.lua("require('agent-lsp.prompt').focus()")
  child.type_keys("then list the files<M-CR>")
  it.tree_has("○ queued: then list the files")
  child.lua("require('agent-lsp.prompt').focus()")
  child.type_keys("a draft<C-p>")
  it.wait("require('agent-lsp.prompt').text() == 'only greet_test.go, please'")
  child.type_keys("<C-n>")
  it.wait("require('agent-lsp.prompt').text() == 'a draft'")
  child.type_keys("<Esc>")
  child.cmd("AgentCancel")
  it.wait([[#require("agent-lsp.client").current.model.cycles >= 1 and require("agent-lsp.client").current.model.cycles[1].status == "interrupted"]])
end

T["state commands are answered in the panel"] = function()
  child.cmd("Agent /status")
  it.tree_has("› /status")
  it.tree_has("[Mm]odel")
end

T["a request of several steps: its checklist is ticked live, its route shows the tag"] = function()
  child.cmd("Agent #test replace `earth` with `moon` in greet_test.go, run the tests, show greet.go")
  it.tree_has("⇢ route  .*%[#test%]")
  it.tree_has("≡ workflow  0 of 3 steps done")
  it.state("idle", 60000)
  it.tree_has("✗ 1  replace")
  it.tree_has("○ 2  run the tests")
  it.tree_has("≡ workflow  0 of 3 steps done%s+failed")
end

T["a proposed workflow is carried out when it is approved by the key on its row"] = function()
  child.cmd("Agent #planning replace `world` with `earth` in greet.go, show greet.go")
  it.tree_has("≡ workflow  2 steps proposed%s+%[a%] approve")
  it.tree_has("%[#planning%]")
  it.state("idle")
  eq(it.disk("greet.go")[14], '\t\treturn "world"')
  it.go_to_row("steps proposed")
  child.type_keys("a")
  it.wait([[#require("agent-lsp.client").current.model.cycles == 2]])
  it.pending(1)
  it.state("idle")
  it.tree_has("≡ workflow  2 of 2 steps done")
  it.tree_lacks("%[a%] approve")
end

T["what is wrong is said, and what was typed stays"] = function()
  child.cmd("AgentToggle")
  child.type_keys("/nonsense<CR>")
  it.wait("vim.g.said[#vim.g.said] ~= nil and vim.g.said[#vim.g.said]:find('is no command') ~= nil")
  eq(child.lua_get("require('agent-lsp.prompt').text()"), "/nonsense")
end

T["the context view"] = function()
  child.cmd("Agent where is an empty name replaced?")
  it.tree_has("◇ context")
  it.state("idle")
  child.cmd("AgentContext")
  it.wait("vim.api.nvim_buf_get_name(0):find('agent%-lsp://context$') ~= nil")
  local text = table.concat(it.lines(), "\n")
  eq(text:find("^Plan %x+ · turn 1, call %d+ · builtin · %d+ items? in · %d+ out · identical on replay ✓\n") ~= nil, true)
  eq(text:find("\nin   retrieval +greet%.go:") ~= nil, true)
  go_to("^in   retrieval")
  child.type_keys("<CR>")
  it.wait("vim.api.nvim_buf_get_name(0):find('greet') ~= nil")
end

T["the trace view"] = function()
  child.cmd("Agent where is an empty name replaced?")
  it.tree_has("◇ context")
  it.state("idle")
  child.cmd("AgentTrace")
  it.wait("vim.api.nvim_buf_get_name(0):find('agent%-lsp://trace$') ~= nil")
  eq(it.lines()[1]:find("^Trace of turn ") ~= nil, true)
  eq(table.concat(it.lines(), "\n"):find("✓ %w+") ~= nil, true)
end

T["folds, and the view stays where the person is"] = function()
  child.cmd("Agent where is an empty name replaced?")
  it.tree_has("greet%.go:%d+")
  it.state("idle")
  child.lua("vim.api.nvim_set_current_win(require('agent-lsp.panel').win())")
  child.fn.cursor(1, 1)
  child.lua("require('agent-lsp.panel').draw_now()")
  local lines = #it.lines()
  child.type_keys("za")
  it.wait(("vim.api.nvim_buf_line_count(0) < %d"):format(lines))
  child.type_keys("za")
  it.wait(("vim.api.nvim_buf_line_count(0) == %d"):format(lines))
  go_to("context")
  local line = child.fn.line(".")
  child.cmd("Agent who calls Hello?")
  it.tree_has("who calls Hello")
  it.state("idle")
  it.wait([[#require("agent-lsp.client").current.model.cycles == 2]])
  eq(child.fn.line("."), line)
end

T["reopening shows the same tree, hunks and pause"] = function()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  child.cmd("Agent run the tests")
  it.state("waiting")
  child.cmd("AgentPause")
  it.state("paused")
  local marks = it.marks("deleted", 1)
  child.cmd("wall")
  it.start()
  it.pending(3)
  it.wait("#vim.api.nvim_buf_get_extmarks(0, require('agent-lsp.inline').NS, 0, -1, {}) > 0")
  eq(#marks, 3)
  eq(it.marks("deleted", 1), marks)
  it.state("paused")
  child.cmd("AgentToggle")
  it.tree_has("rename the function")
  it.tree_has("▾ run the tests")
  it.tree_has("⏸ paused before step")
end

T["a server that dies is started again, and nothing is lost"] = function()
  child.cmd("Agent rename the function clean to tidy everywhere")
  it.pending(3)
  it.state("idle")
  local first = child.lua_get([[require("agent-lsp.client").current.client_id]])
  child.lua([[
    local client = vim.lsp.get_client_by_id(require("agent-lsp.client").current.client_id)
    client.rpc.terminate()
  ]])
  it.wait(([[(require("agent-lsp.client").current.client_id or %d) ~= %d]]):format(first, first))
  it.ready()
  it.pending(3)
end

T["a run that kill -9 cut off is offered, also to who reopens the editor, taken up and finished"] = function()
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
  child.cmd("Agent run the tests")
  it.state("waiting")
  it.answer("y")
  it.wait(([[vim.uv.fs_stat(%q) ~= nil]]):format(it.root .. "/began"))
  eq(child.lua_get([[require("agent-lsp").status().state]]), "running")
  it.kill_server()
  local offer = "⏸ interrupted at step 2 of 40%s+%[r%] resume"
  it.tree_has(offer)
  eq(it.said("a run was cut off"), 1)
  it.state("idle")
  it.start()
  it.ready()
  eq(it.said("a run was cut off"), 1)
  child.cmd("AgentToggle")
  it.tree_has(offer)
  vim.fn.writefile({}, it.root .. "/free")
  child.cmd("AgentResume")
  it.state("waiting")
  it.tree_lacks("%[r%] resume")
  it.answer("y")
  it.state("idle")
  eq(child.lua_get([[vim.tbl_map(function(c) return c.status end, require("agent-lsp.client").current.model.cycles)]]), { "interrupted", "completed" })
  it.tree_has("✎ The tests pass")
  eq(it.said("a run was cut off"), 1)
  child.cmd("AgentResume")
  it.said("nothing runs that could be resumed")
end

T["a steer that a crash left unread is shown so; the run is taken up by the key on its row"] = function()
  child.cmd("Agent run the tests")
  it.state("waiting")
  child.lua([[require("agent-lsp").submit("only greet_test.go, please")]])
  it.tree_has("↳ you: only greet_test.go, please%s+steer · unread")
  it.kill_server()
  it.tree_has("↳ you: only greet_test%.go, please%s+never read  %[s%]")
  it.tree_has("⏸ interrupted at step %d of 40%s+%[r%] resume")
  it.go_to_row("interrupted at step")
  child.type_keys("r")
  it.state("waiting")
  it.answer("n")
  it.state("idle")
  eq(child.lua_get([[#require("agent-lsp.client").current.model.cycles]]), 2)
  it.tree_lacks("%[r%] resume")
end

T["a steer that a cancel left unread is sent again by the key on its row, once"] = function()
  child.cmd("Agent run the tests")
  it.state("waiting")
  child.lua([[require("agent-lsp").submit("where is an empty name replaced?")]])
  it.tree_has("↳ you: where is an empty name replaced%?%s+steer · unread")
  child.cmd("AgentCancel")
  it.state("idle")
  it.tree_has("↳ you: where is an empty name.*never read  %[s%]")
  it.go_to_row("never read")
  child.type_keys("s")
  it.tree_has("steer · sent again")
  it.tree_has("▾ where is an empty name replaced%?")
  it.state("idle")
  it.tree_has("greet%.go:%d+")
  it.go_to_row("sent again")
  child.type_keys("s")
  eq(child.lua_get([[vim.tbl_map(function(c) return c.status end, require("agent-lsp.client").current.model.cycles)]]), { "interrupted", "completed" })
  it.tree_lacks("send again")
end

T["a stale edit is not applied"] = function()
  local before = it.lines()
  local result = child.lua([[
    local uri = vim.uri_from_bufnr(0)
    local id = require("agent-lsp.client").current.client_id
    return require("agent-lsp.apply").edit(nil, { edit = { documentChanges = { {
      textDocument = { uri = uri, version = vim.lsp.util.buf_versions[vim.api.nvim_get_current_buf()] + 1 },
      edits = { { range = { start = { line = 0, character = 0 }, ["end"] = { line = 1, character = 0 } }, newText = "x\n" } },
    } } } }, { client_id = id })
  ]])
  eq(result.applied, false)
  eq(it.lines(), before)
end

T["health says what there is"] = function()
  child.cmd("checkhealth agent-lsp")
  local text = table.concat(it.lines(), "\n")
  eq(text:find("version ", 1, true) ~= nil, true)
  eq(text:find("the model is builtin", 1, true) ~= nil, true)
  eq(text:find("ERROR", 1, true), nil)
end

T["control: this harness fails when the screen lacks what is wanted"] = function()
  local wait = require("child").WAIT_MS
  require("child").WAIT_MS = 300
  local ok = pcall(it.sees, "a text that is nowhere on the screen")
  require("child").WAIT_MS = wait
  eq(ok, false)
end

return T
