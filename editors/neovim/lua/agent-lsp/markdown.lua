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

return M
