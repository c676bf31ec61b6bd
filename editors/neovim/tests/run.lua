-- nvim --headless --clean -u NONE -l tests/run.lua FILE...: runs test files of
-- mini.test; exits with 1 when a case fails, or leaves a note.
vim.opt.rtp:prepend(assert(vim.env.MINI_TEST, "set MINI_TEST"))
vim.opt.rtp:prepend(assert(vim.env.PLUGIN, "set PLUGIN"))
package.path = vim.env.PLUGIN .. "/tests/?.lua;" .. package.path
local T = require("mini.test")
local files = {}
for i = 1, #arg do
  files[i] = arg[i]
end
T.setup({
  collect = {
    find_files = function()
      return files
    end,
    filter_cases = function(case)
      return not vim.env.FILTER or table.concat(case.desc, " "):find(vim.env.FILTER) ~= nil
    end,
  },
  execute = { reporter = T.gen_reporter.stdout({ group_depth = 1, quit_on_finish = false }) },
})
T.run()
local LIMIT_MS = 10 * 60 * 1000
local finished = vim.wait(LIMIT_MS, function()
  return not T.is_executing()
end, 20)
local bad = finished and 0 or 1
for _, c in ipairs(T.current.all_cases) do
  if #c.exec.fails > 0 or #c.exec.notes > 0 then
    bad = bad + 1
  end
end
io.stdout:write(("\n%d cases, %d bad\n"):format(#T.current.all_cases, bad))
io.stdout:flush()
vim.cmd((bad > 0 or #T.current.all_cases == 0) and "cquit 1" or "qall!")
