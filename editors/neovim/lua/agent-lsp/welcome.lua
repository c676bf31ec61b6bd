--- The first minute: what works now, how to connect a model, what to try here.
--- Pure.
local glyphs = require("agent-lsp.glyphs")
local text = require("agent-lsp.text")

local M = {}

--- Breaks prose into lines that fit.
local function wrap(s, width)
  local out, line = {}, ""
  for word in s:gmatch("%S+") do
    if line ~= "" and text.width(line) + 1 + text.width(word) > width then
      out[#out + 1] = line
      line = word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  out[#out + 1] = line
  return out
end

--- What models there are, in one sentence.
---@param s agent_lsp.Session
local function models(s)
  local others, current = {}, nil
  for _, m in ipairs(s.models) do
    if m.current then
      current = m
    end
    if m.available and not m.name:match("^builtin") then
      others[#others + 1] = m.name
    end
  end
  local built_in = not current or current.name:match("^builtin")
  if not built_in and current then
    return ("The model is %s. :AgentModel changes it."):format(current.name)
  elseif #others > 0 then
    return ("Found: %s. :AgentModel chooses one."):format(table.concat(others, ", ", 1, math.min(3, #others)))
  end
  return "For free-form work connect a model: start Ollama or llama.cpp, or set ANTHROPIC_API_KEY, OPENAI_API_KEY or GROQ_API_KEY. :AgentModel shows what is found."
end

---@param s agent_lsp.Session?
---@param width integer
---@param ascii boolean?
---@return agent_lsp.Row[]
function M.rows(s, width, ascii)
  local g = glyphs.set(ascii)
  local rows = {}
  local function add(left, data)
    local line, marks = text.row(left, nil, width, g.cut)
    rows[#rows + 1] = { key = "welcome/" .. #rows, text = line, marks = marks, data = data or { kind = "note" } }
  end
  local function prose(sentence, group)
    for _, line in ipairs(wrap(sentence, width - 2)) do
      add({ { " " .. line, group } })
    end
  end
  if not s then
    prose("The server doesn't run. :checkhealth agent-lsp says why.", "AgentLspError")
    return rows
  elseif not s.ready then
    prose("Starting " .. g.cut, "AgentLspDim")
    return rows
  end
  prose("Ready, offline too: the built-in model answers where, what, how and who-calls questions with path:line, renames, replaces, and runs the tests.", "AgentLspText")
  add({})
  prose(models(s), "AgentLspDim")
  local index = s.index
  if index and index.state == "indexing" then
    prose(("Reading the project: %d of %d files. You can ask already."):format(index.done or 0, index.total or 0), "AgentLspDim")
  elseif index and index.state == "degraded" then
    prose("The index is degraded: " .. (index.message or "") .. " Searching reads the files instead.", "AgentLspWait")
  end
  local tips = s.status and s.status.tips or {}
  if #tips > 0 then
    add({})
    prose("Try:", "AgentLspDim")
    for _, tip in ipairs(tips) do
      add({ { "  " .. g.closed .. " ", "AgentLspFold" }, { tip, "AgentLspTool" } }, { kind = "tip", text = tip })
    end
    add({})
    prose("Enter on a line writes it into the prompt below.", "AgentLspDim")
  end
  return rows
end

return M
