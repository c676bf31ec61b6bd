--- Highlights for markdown, line by line, so that streaming only ever appends.
--- Pure. Code inside fences is named with its language; the panel asks
--- tree-sitter for its colours where a parser is installed.
local M = {}

---@class agent_lsp.MarkdownLine
---@field marks table[] of {start, end, group, conceal?} in bytes
---@field fence? string language of the fenced code that the line is in
---@field rule? boolean the line opens or closes a fence

---@param line string
---@param marks table[]
local function inline(line, marks)
  local taken = {}
  local function free(s, e)
    for i = s, e do
      if taken[i] then
        return false
      end
    end
    for i = s, e do
      taken[i] = true
    end
    return true
  end
  local function each(pattern, fn)
    local at = 1
    while true do
      local s, e, a = line:find(pattern, at)
      if not s then
        return
      end
      if e >= s and free(s, e) then
        fn(s, e, a)
      end
      at = math.max(e, s) + 1
    end
  end
  each("`([^`]+)`", function(s, e)
    marks[#marks + 1] = { s - 1, s, "AgentLspDim", true }
    marks[#marks + 1] = { s, e - 1, "AgentLspCode" }
    marks[#marks + 1] = { e - 1, e, "AgentLspDim", true }
  end)
  each("%*%*([^%s*][^*]*)%*%*", function(s, e)
    marks[#marks + 1] = { s - 1, s + 1, "AgentLspDim", true }
    marks[#marks + 1] = { s + 1, e - 2, "AgentLspBold" }
    marks[#marks + 1] = { e - 2, e, "AgentLspDim", true }
  end)
  each("%f[%*]%*([^%s*][^*]*)%*%f[^%*]", function(s, e)
    marks[#marks + 1] = { s - 1, s, "AgentLspDim", true }
    marks[#marks + 1] = { s, e - 1, "AgentLspItalic" }
    marks[#marks + 1] = { e - 1, e, "AgentLspDim", true }
  end)
  each("[%w_%-./]+%.%w+:%d+[%d%-:]*", function(s, e)
    marks[#marks + 1] = { s - 1, e, "AgentLspPath" }
  end)
  each("https?://[%w%-._~:/?#@!$&'*+,;=%%]+", function(s, e)
    marks[#marks + 1] = { s - 1, e, "AgentLspLink" }
  end)
end

--- Highlights of each line.
---@param lines string[]
---@return agent_lsp.MarkdownLine[]
function M.lines(lines)
  local out = {}
  local fence, lang
  for i, line in ipairs(lines) do
    local marks = {}
    local row = { marks = marks }
    local ticks, name = line:match("^%s*(```+)%s*([%w_+-]*)")
    if not ticks then
      ticks, name = line:match("^%s*(~~~+)%s*([%w_+-]*)")
    end
    if fence then
      if ticks and #ticks >= #fence and ticks:sub(1, 1) == fence:sub(1, 1) and name == "" then
        fence, row.rule = nil, true
        marks[1] = { 0, #line, "AgentLspDim" }
      else
        row.fence = lang
        marks[1] = { 0, #line, "AgentLspCodeBlock" }
      end
    elseif ticks then
      fence, lang, row.rule = ticks, name, true
      marks[1] = { 0, #line, "AgentLspDim" }
    else
      local hashes = line:match("^#+%s")
      local bullet_start, bullet_end = line:find("^%s*[-*+]%s")
      if not bullet_start then
        bullet_start, bullet_end = line:find("^%s*%d+[.)]%s")
      end
      local quote = line:match("^%s*>%s?")
      if hashes then
        marks[#marks + 1] = { 0, #line, "AgentLspHeading" }
      elseif bullet_start then
        marks[#marks + 1] = { 0, bullet_end, "AgentLspBullet" }
      elseif quote then
        marks[#marks + 1] = { 0, #line, "AgentLspDim" }
      end
      inline(line, marks)
    end
    out[i] = row
  end
  return out
end

--- Breaks a line between words so that it fits; the rows after the first stand
--- under the first's text. Hidden marks count, for Neovim counts them too.
---@param line string
---@param marks table[]
---@param width integer
---@return { text: string, marks: table[] }[]
function M.wrap(line, marks, width)
  local hang = (" "):rep(#(line:match("^%s*[-*+]%s+") or line:match("^%s*%d+[.)]%s+") or line:match("^%s*")))
  local rows, from, used = {}, 1, 0
  local function close(to, indent)
    local row = { text = indent .. line:sub(from, to), marks = {} }
    for _, m in ipairs(marks) do
      local s, e = math.max(m[1], from - 1), math.min(m[2], to)
      if s < e then
        row.marks[#row.marks + 1] = { s - from + 1 + #indent, e - from + 1 + #indent, m[3], m[4] }
      end
    end
    rows[#rows + 1] = row
  end
  for s, blank, word_at, e in line:gmatch("()(%s*)()%S+()") do
    local shown = vim.api.nvim_strwidth(line:sub(word_at, e - 1))
    local room = width - (#rows > 0 and #hang or 0)
    if used > 0 and used + #blank + shown > room and line:sub(from, s - 1):find("%S") then
      close(s - 1, #rows > 0 and hang or "")
      from, used = word_at, shown
    else
      used = used + #blank + shown
    end
  end
  close(#line, #rows > 0 and hang or "")
  return rows
end

return M
