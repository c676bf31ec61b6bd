--- The session's branches: chosen, forked, put side by side, adopted.
local client = require("agent-lsp.client")
local config = require("agent-lsp.config")
local glyphs = require("agent-lsp.glyphs")
local page = require("agent-lsp.page")
local text = require("agent-lsp.text")

local M = {}

local SIDE_CELLS = 44 -- of one branch in a comparison
local MAIN = "main"

---@param s agent_lsp.Session
---@param method string
---@param params table
---@param done fun(r: any)
local function request(s, method, params, done)
  s.gate.request(method, params, function(err, r)
    if err then
      client.say(client.explain(err), vim.log.levels.WARN)
    else
      done(r)
    end
  end)
end

--- Makes a branch the one that messages go to, and shows it.
---@param s agent_lsp.Session
---@param name string id or name
local function switch(s, name)
  request(s, "agent/branch/switch", { sessionId = s.id, branchId = name }, function(r)
    s:load({ sessionId = s.id, branchId = r.current })
  end)
end

---@param s agent_lsp.Session
---@param name string?
local function fork(s, name)
  request(s, "agent/branch/fork", s:ref({ name = name }), function(b)
    client.say(("%s: forked from %s with %s"):format(b.name, b.parent or MAIN, text.count(b.turns, "turn")))
    switch(s, b.branchId)
  end)
end

---@param s agent_lsp.Session
---@param name string
local function adopt(s, name)
  request(s, "agent/branch/adopt", { sessionId = s.id, branchId = name }, function(r)
    local g = glyphs.set(config.values.ascii)
    local words, hunks = {}, 0
    for _, f in ipairs(r.files) do
      hunks = hunks + f.hunks
      if (f.skipped or "") ~= "" then
        words[#words + 1] = ("%s %s left alone: %s"):format(g.refused, f.path, f.skipped)
      else
        local moved = f.rebased and ", moved over what had changed meanwhile" or ""
        words[#words + 1] = ("%s %s %s to review (+%d %s%d)%s"):format(g.waiting, f.path, text.count(f.hunks, "hunk"), f.added, g.minus, f.removed, moved)
      end
    end
    client.say(#words > 0 and table.concat(words, "; ") or "the branch has changed nothing")
  end)
end

---@param side agent_lsp.BranchSide
---@param only integer evidence of this side alone
---@param g agent_lsp.Glyphs
---@return table<string, string>
local function cells(side, only, g)
  local count, tools = {}, {}
  for _, c in ipairs(side.calls) do
    if not count[c.tool] then
      tools[#tools + 1] = c.tool
    end
    count[c.tool] = (count[c.tool] or 0) + 1
  end
  local did = vim.tbl_map(function(tool)
    return ("%s %d"):format(tool, count[tool])
  end, tools)
  local tokens, ms, usd = 0, 0, 0
  for _, u in ipairs(side.usage) do
    tokens, ms, usd = tokens + u.input + u.output, ms + u.ms, usd + u.costUsd
  end
  local used = { text.count(#side.usage, "call"), text.tokens(tokens) .. " tok", text.duration(ms) }
  local cost = text.cost(usd)
  used[#used + 1] = cost ~= "" and cost or nil
  local added, removed = 0, 0
  for _, d in ipairs(side.diffs) do
    added, removed = added + (d.added or 0), removed + (d.removed or 0)
  end
  local said = side.outcome and side.outcome.response and text.first_line(side.outcome.response.content)
  return {
    [""] = side.branch.name,
    asked = text.first_line(side.input),
    found = ("%s, %d of them here only"):format(text.count(#side.evidence, "item"), only),
    plan = side.planId and side.planId:gsub("^plan%-", ""):sub(1, 7) or "none",
    did = #did > 0 and table.concat(did, g.between) or "no calls",
    used = table.concat(used, g.between),
    said = said or (side.turnId and "no answer yet" or "nothing was asked yet"),
    changed = ("%s, +%d %s%d"):format(text.count(#side.diffs, "file"), added, g.minus, removed),
  }
end

--- Two branches side by side, then what only one of them found, then the
--- diffs. Pure.
---@param c agent_lsp.BranchComparison
---@param ascii boolean?
---@return { text: string, marks: table[] }[]
function M.comparison_rows(c, ascii)
  local g = glyphs.set(ascii)
  local rows = {}
  local function add(left)
    local line, marks = text.row(left, nil, math.huge, g.cut)
    rows[#rows + 1] = { text = line, marks = marks }
  end
  local function cell(s)
    return text.pad(text.cut(s, SIDE_CELLS, g.cut), SIDE_CELLS)
  end
  local a, b = cells(c.a, #c.onlyA, g), cells(c.b, #c.onlyB, g)
  for _, label in ipairs({ "", "asked", "found", "plan", "did", "used", "said", "changed" }) do
    local group = label == "" and "AgentLspRoot" or "AgentLspText"
    add({ { text.pad(label, 9), "AgentLspDim" }, { cell(a[label]) .. "  ", group }, { cell(b[label]), group } })
  end
  for _, x in ipairs({ { c.a.branch.name, c.onlyA }, { c.b.branch.name, c.onlyB } }) do
    if #x[2] > 0 then
      add({})
      add({ { "found for " .. x[1] .. " only", "AgentLspHeading" } })
      for _, place in ipairs(x[2]) do
        add({ { "  " .. text.clean(place), "AgentLspPath" } })
      end
    end
  end
  for _, side in ipairs({ c.a, c.b }) do
    for _, d in ipairs(side.diffs) do
      add({})
      add({ { ("%s: %s"):format(side.branch.name, d.path), "AgentLspHeading" } })
      for _, line in ipairs(text.lines((d.diff:gsub("\n$", "")))) do
        local first = line:sub(1, 1)
        add({ { text.clean(line), first == "+" and "AgentLspAdd" or first == "-" and "AgentLspDelete" or "AgentLspDim" } })
      end
    end
  end
  return rows
end

---@param s agent_lsp.Session
---@param other string
local function compare(s, other)
  request(s, "agent/branch/compare", { sessionId = s.id, a = s.branch, b = other }, function(r)
    page.open("compare", M.comparison_rows(r, config.values.ascii))
  end)
end

---@param s agent_lsp.Session
---@param list agent_lsp.BranchInfo[]
local function choose(s, list)
  local items = vim.list_extend({}, list)
  items[#items + 1] = { verb = "fork", words = "fork from here" }
  if s.branch ~= MAIN then
    items[#items + 1] = { verb = "adopt", words = "adopt what this branch has changed" }
    items[#items + 1] = { verb = "compare", words = "compare with main" }
  end
  vim.ui.select(items, {
    prompt = "Branch",
    kind = "agent-lsp-branch",
    format_item = function(b)
      if b.verb then
        return b.words
      end
      local from = (b.parent or "") ~= "" and (", from %s"):format(b.parent) or ""
      return ("%s%s  %s%s"):format(b.branchId == s.branch and "* " or "", b.name, text.count(b.turns, "turn"), from)
    end,
  }, function(b)
    if b and b.verb then
      M.open(b.verb)
    elseif b then
      switch(s, b.branchId)
    end
  end)
end

--- :AgentBranches. Without a verb the person chooses.
---@param verb ""|"fork"|"switch"|"adopt"|"compare"
---@param name string? of the new branch, or of the one that is meant
function M.open(verb, name)
  local s = client.get()
  name = name ~= "" and name or nil
  if not s or not s.id then
    client.say("there is no session yet: :Agent {question} begins one")
  elseif verb == "fork" then
    fork(s, name)
  elseif verb == "adopt" then
    adopt(s, name or s.branch)
  elseif verb == "compare" then
    compare(s, name or MAIN)
  elseif verb == "switch" and name then
    switch(s, name)
  elseif verb == "" or verb == "switch" then
    request(s, "agent/branch/list", { sessionId = s.id }, function(r)
      s.branches = r.branches
      choose(s, r.branches)
    end)
  else
    client.say(("%q is nothing that branches can do: fork, switch, adopt or compare"):format(verb), vim.log.levels.WARN)
  end
end

--- Words that can come next on the command line.
---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local words = { "adopt", "compare", "fork", "switch" }
  if line:match("^%s*%S+%s+%S+%s") then
    words = line:match("%sfork%s") and {} or vim.tbl_map(function(b)
      return b.name
    end, client.current and client.current.branches or {})
  end
  return vim.tbl_filter(function(w)
    return vim.startswith(w, lead)
  end, words)
end

return M
