--- A real Neovim with the plugin and the real server, on a project of its own.
local MiniTest = require("mini.test")

local M = {}

M.WAIT_MS = 15000

local function write(path, lines)
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  vim.fn.writefile(lines, path)
end

--- A small project in a temporary folder.
---@return string root
function M.project()
  local root = vim.uv.fs_realpath(vim.fn.fnamemodify(vim.fn.tempname(), ":h")) .. "/" .. vim.uv.hrtime()
  write(root .. "/.git/HEAD", { "ref: refs/heads/main" })
  write(root .. "/go.mod", { "module example.org/greeting", "", "go 1.22" })
  write(root .. "/greet.go", {
    "// Package greeting greets.",
    "package greeting",
    "",
    'import "fmt"',
    "",
    "// Hello greets somebody by name.",
    "func Hello(name string) string {",
    '\treturn fmt.Sprintf("Hello, %s!", clean(name))',
    "}",
    "",
    "// clean makes a name fit for a greeting.",
    "func clean(name string) string {",
    '\tif name == "" {',
    '\t\treturn "world"',
    "\t}",
    "\treturn name",
    "}",
    "",
    "// Twice greets two times.",
    "func Twice(name string) string {",
    "\treturn Hello(clean(name)) + Hello(clean(name))",
    "}",
  })
  write(root .. "/greet_test.go", {
    "package greeting",
    "",
    'import "testing"',
    "",
    "func TestHello(t *testing.T) {",
    '\tif Hello("") != "Hello, world!" {',
    '\t\tt.Fatal("no greeting")',
    "\t}",
    "}",
  })
  return root
end

---@param size { lines: integer, columns: integer }?
function M.new(size)
  local child = MiniTest.new_child_neovim()
  local root = M.project()
  local self = { child = child, root = root }
  size = size or { lines = 34, columns = 150 }

  --- Starts the editor anew; what the server keeps stays.
  function self.start(setup)
    child.restart({ "-u", vim.env.PLUGIN .. "/tests/real/init.lua", "--cmd", ("let g:test_root = %q"):format(root) })
    child.o.lines, child.o.columns = size.lines, size.columns
    child.lua("vim.fn.chdir(...)", { root })
    child.lua(([[require("agent-lsp").setup(vim.tbl_extend("force", { cmd = vim.env.BIN }, %s))]]):format(setup or "{}"))
    child.cmd("edit greet.go")
  end

  --- Waits until a Lua expression is true in the child.
  function self.wait(expr, what, ms)
    local deadline = vim.uv.hrtime() + (ms or M.WAIT_MS) * 1e6
    repeat
      if child.lua_get(expr) == true then
        return
      end
      vim.uv.sleep(15)
    until vim.uv.hrtime() > deadline
    error(("never true: %s\nscreen:\n%s\nmessages:\n%s"):format(what or expr, self.screen(), child.cmd_capture("messages")), 0)
  end

  function self.screen()
    return tostring(child.get_screenshot({ redraw = true })):gsub("\n\n.*", "")
  end

  --- Waits until the screen shows a Lua pattern.
  --- What the current window shows, row by row.
  function self.window()
    child.cmd("redraw")
    return child.lua_get([[(function()
      local out, at = {}, vim.fn.win_screenpos(0)
      for row = at[1], at[1] + vim.api.nvim_win_get_height(0) - 1 do
        local line = {}
        for column = at[2], at[2] + vim.api.nvim_win_get_width(0) - 1 do
          line[#line + 1] = vim.fn.screenstring(row, column)
        end
        out[#out + 1] = (table.concat(line):gsub("%s+$", ""))
      end
      return out
    end)()]])
  end

  function self.sees(pattern)
    local deadline = vim.uv.hrtime() + M.WAIT_MS * 1e6
    local screen
    repeat
      screen = self.screen()
      if screen:find(pattern) then
        return screen
      end
      vim.uv.sleep(30)
    until vim.uv.hrtime() > deadline
    error(("never seen: %s\nscreen:\n%s\nmessages:\n%s"):format(pattern, screen, child.cmd_capture("messages")), 0)
  end

  function self.ready()
    self.wait([[require("agent-lsp").status().state == "idle" and require("agent-lsp.client").current ~= nil and require("agent-lsp.client").current.ready]])
  end

  function self.state(word, ms)
    self.wait(("require('agent-lsp').status().state == %q"):format(word), nil, ms)
  end

  function self.pending(n)
    self.wait(("require('agent-lsp').status().pending == %d"):format(n))
  end

  function self.tree()
    return table.concat(child.lua_get([[vim.api.nvim_buf_get_lines(require("agent-lsp.panel").buf, 0, -1, false)]]), "\n")
  end

  function self.tree_has(pattern)
    self.wait(([[table.concat(vim.api.nvim_buf_get_lines(require("agent-lsp.panel").buf, 0, -1, false), "\n"):find(%q) ~= nil]]):format(pattern))
  end

  function self.tree_lacks(pattern)
    self.wait(([[table.concat(vim.api.nvim_buf_get_lines(require("agent-lsp.panel").buf, 0, -1, false), "\n"):find(%q) == nil]]):format(pattern))
  end

  --- What is drawn into the first file's buffer, of one kind: rows and words.
  ---@param kind "added"|"deleted"|nil
  ---@param bufnr integer?
  function self.marks(kind, bufnr)
    local list = child.lua_get(([[vim.tbl_map(function(m)
      local d = m[4]
      return d.virt_lines and d.virt_lines[1][2][2] == "AgentLspDelete" and { m[2], "deleted", (d.virt_lines[1][2][1]:gsub("%%s+$", "")) }
        or d.line_hl_group and { m[2], "added", d.sign_text }
        or { m[2], d.virt_text and "hint" or "sign" }
    end, vim.api.nvim_buf_get_extmarks(%d, require("agent-lsp.inline").NS, 0, -1, { details = true }))]]):format(bufnr or 0))
    return vim.tbl_filter(function(m)
      return not kind or m[2] == kind
    end, list)
  end

  --- Answers the question on the screen by a key, as a person who has read it.
  function self.answer(key)
    self.wait(([[(function()
      if not require("agent-lsp.permission").focus() then
        return true
      end
      vim.api.nvim_feedkeys(%q, "xt", false)
      return not require("agent-lsp.permission").focus()
    end)()]]):format(key), "the question is answered with " .. key)
  end

  --- Kills the server as a crash would: nothing flushed, nobody told.
  function self.kill_server()
    local killed = child.lua([[
      local servers = vim.api.nvim_get_proc_children(vim.fn.getpid())
      for _, pid in ipairs(servers) do
        vim.uv.kill(pid, "sigkill")
      end
      return #servers
    ]])
    MiniTest.expect.equality(killed, 1)
    self.said("the server ended (exit 0, signal 9) and is started again")
  end

  --- Waits until the person was told something, and says how often they were.
  ---@param words string
  ---@return integer
  function self.said(words)
    local function times()
      return #vim.tbl_filter(function(m)
        return m:find(words, 1, true) ~= nil
      end, child.g.said)
    end
    self.wait(([[table.concat(vim.g.said, "\n"):find(%q, 1, true) ~= nil]]):format(words))
    return times()
  end

  --- Puts the cursor on the panel's first row with these words.
  function self.go_to_row(pattern)
    child.lua(([[
      local panel = require("agent-lsp.panel")
      vim.api.nvim_set_current_win(panel.win())
      for i, row in ipairs(panel.rows) do
        if row.text:find(%q) then
          vim.api.nvim_win_set_cursor(0, { i, 0 })
          return
        end
      end
      error("no such row")
    ]]):format(pattern))
  end

  function self.disk(name)
    return vim.fn.readfile(root .. "/" .. name)
  end

  function self.lines()
    return child.api.nvim_buf_get_lines(0, 0, -1, false)
  end

  function self.stop()
    child.stop()
  end

  return self
end

return M
