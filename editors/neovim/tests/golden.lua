--- Comparison with files under tests/golden. UPDATE=1 writes them.
local M = {}

---@param name string
---@param lines string[]
function M.equal(name, lines)
  local path = ("%s/tests/golden/%s.txt"):format(vim.env.PLUGIN, name)
  if vim.env.UPDATE == "1" then
    vim.fn.writefile(lines, path)
    return
  end
  if not vim.uv.fs_stat(path) then
    error(path .. " is missing: run with UPDATE=1 and look at it")
  end
  local want = vim.fn.readfile(path)
  for i = 1, math.max(#want, #lines) do
    if want[i] ~= lines[i] then
      error(("%s, line %d:\n  want %s\n  have %s\nwhole:\n%s"):format(path, i, vim.inspect(want[i]), vim.inspect(lines[i]), table.concat(lines, "\n")), 0)
    end
  end
end

--- Rows as text; with the highlights below each row when asked.
---@param rows table[]
---@param with_marks boolean?
function M.rows(rows, with_marks)
  local out = {}
  for _, row in ipairs(rows) do
    out[#out + 1] = row.text
    if with_marks then
      for _, m in ipairs(row.marks) do
        out[#out + 1] = ("      %s%s %q"):format(m[3]:gsub("^AgentLsp", ""), m[4] and " hidden" or "", row.text:sub(m[1] + 1, m[2]))
      end
    end
  end
  return out
end

return M
