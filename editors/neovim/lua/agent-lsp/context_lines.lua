--- A ContextPlan as text: the budget bar, then what went in and what didn't,
--- each with its reason. Pure.
local glyphs = require("agent-lsp.glyphs")
local text = require("agent-lsp.text")

local M = {}

local BAR_CELLS = 32
local SHORT_ID = 7
local REASON_CELLS = 10
M.SECTIONS = { "system", "instructions", "pinned", "memory", "summary", "history", "retrieval", "focus", "reflection", "request" }
local SHORT = { instructions = "instr", reflection = "reflect" }

local number_of = {}
for i, name in ipairs(M.SECTIONS) do
  number_of[name] = i
end

---@param section string
function M.group(section)
  return "AgentLspSection" .. (number_of[section] or 1)
end

---@param sections agent_lsp.SectionSum[]
---@param budget integer
local function bar(sections, budget, g)
  local pieces, used, tokens = {}, 0, 0
  for i, s in ipairs(sections) do
    tokens = tokens + s.tokens
    local to = budget > 0 and math.floor(tokens * BAR_CELLS / budget + 0.5) or 0
    if to == used and s.tokens > 0 and used < BAR_CELLS then
      to = used + 1 -- what is there can be seen
    end
    to = math.min(BAR_CELLS, to)
    if to > used then
      pieces[#pieces + 1] = { (g.bar[(i - 1) % #g.bar + 1]):rep(to - used), M.group(s.section) }
    end
    used = to
  end
  pieces[#pieces + 1] = { (g.free):rep(BAR_CELLS - used), "AgentLspBarFree" }
  return pieces
end

--- "bm25 #1 · symbol #2"
---@param why agent_lsp.RetrievalWhy[]?
local function rankers(why, g)
  local out = {}
  for _, w in ipairs(why or {}) do
    out[#out + 1] = ("%s #%d"):format(w.ranker, w.rank)
  end
  return table.concat(out, g.between)
end

--- The first letters of an id's hash.
function M.short(id)
  return (id or ""):gsub("^plan[-_:]", ""):sub(1, SHORT_ID)
end

---@class agent_lsp.ContextRow
---@field text string
---@field marks table[]
---@field item? agent_lsp.PlannedItem
---@field label? agent_lsp.PlanItem
---@field included? boolean

---@param plan agent_lsp.PlanResult
---@param opts { width: integer, ascii?: boolean, filter?: string, turn?: integer }
---@return agent_lsp.ContextRow[]
function M.rows(plan, opts)
  local g = glyphs.set(opts.ascii)
  local rows = {}
  local function add(left, extra)
    local line, marks = text.row(left, nil, math.huge, g.cut)
    rows[#rows + 1] = vim.tbl_extend("force", { text = line, marks = marks }, extra or {})
  end
  local head = {
    "Plan " .. M.short(plan.planId),
    (opts.turn and ("turn %d, "):format(opts.turn) or "") .. ("call %d"):format(plan.call),
    plan.model,
    text.count(#plan.included, "item") .. " in",
    ("%d out"):format(#plan.excluded),
  }
  local same = plan.replay == "identical"
  add({
    { table.concat(head, g.between), "AgentLspRoot" },
    { plan.replay and g.between .. plan.replay .. " on replay " .. (same and g.done or g.failed) or "", same and "AgentLspIn" or "AgentLspError" },
  })
  if plan.replay and not same then
    add({
      { "What building it again from its stored inputs changes is told by: ", "AgentLspDim" },
      { "agent-lsp replay " .. plan.planId, "AgentLspCode" },
    })
  end
  local pieces = bar(plan.sections, plan.budget.prompt, g)
  pieces[#pieces + 1] = {
    ("  %s of %s tokens"):format(text.tokens(plan.budget.estimated), text.tokens(plan.budget.prompt)),
    "AgentLspText",
  }
  add(pieces)
  local legend = {}
  for i, s in ipairs(plan.sections) do
    legend[#legend + 1] = { (i > 1 and "  " or "") .. g.bar[(i - 1) % #g.bar + 1] .. " ", M.group(s.section) }
    legend[#legend + 1] = { SHORT[s.section] or s.section, M.group(s.section) }
    legend[#legend + 1] = { " " .. text.tokens(s.tokens), "AgentLspNumber" }
  end
  add(legend)
  if type(plan.overflow) == "table" then
    add({ { ("%s the request was cut from %d to %d tokens"):format(g.warn, plan.overflow.from, plan.overflow.to), "AgentLspWait" } })
  end
  add({})
  local label_cells, section_cells = 24, 0
  for _, list in ipairs({ plan.included, plan.excluded }) do
    for _, item in ipairs(list) do
      local label = (plan.labels or {})[item.id]
      label_cells = math.max(label_cells, math.min(44, text.width(label and label.label or item.id)))
      section_cells = math.max(section_cells, #item.section)
    end
  end
  local function item_row(item, included)
    local label = (plan.labels or {})[item.id] or { label = item.id }
    local name = text.first_line(label.label)
    local why = rankers(label.why, g)
    local said = {}
    if label.pinned and item.reason ~= "pinned" then
      said[1] = "pinned"
    end
    local detail = text.first_line(item.detail or "")
    for _, words in ipairs(included and { why, detail } or { detail, why }) do
      said[#said + 1] = words ~= "" and words ~= item.reason and words or nil
    end
    local reason = text.pad(item.reason, REASON_CELLS) .. " " .. table.concat(said, g.between)
    local row = {
      { included and "in   " or "out  ", included and "AgentLspIn" or "AgentLspOut" },
      { text.pad(item.section, section_cells) .. "  ", M.group(item.section) },
      { text.pad(text.cut(name, label_cells, g.cut), label_cells) .. " ", included and "AgentLspText" or "AgentLspOut" },
      { text.pad_left(text.thousands(item.tokens, g.thin), 7) .. "   ", "AgentLspNumber" },
      { reason, "AgentLspDim" },
    }
    local whole = {}
    for _, p in ipairs(row) do
      whole[#whole + 1] = p[1]
    end
    if not opts.filter or table.concat(whole):lower():find(opts.filter:lower(), 1, true) then
      add(row, { item = item, label = label, included = included })
    end
  end
  for _, item in ipairs(plan.included) do
    item_row(item, true)
  end
  for _, item in ipairs(plan.excluded) do
    item_row(item, false)
  end
  add({})
  add({ { "[p] pin  [x] exclude  [u] neither  [Enter] open  [d] compare with the previous plan  [f] filter  [q] close", "AgentLspKey" } })
  return rows
end

--- What differs from one plan to the next.
---@param diff agent_lsp.PlanDiff
---@param labels table<string, agent_lsp.PlanItem>
---@param opts { ascii?: boolean }
---@return agent_lsp.ContextRow[]
function M.diff_rows(diff, labels, opts)
  local g = glyphs.set(opts.ascii)
  local rows = {}
  local function add(left)
    local line, marks = text.row(left, nil, math.huge, g.cut)
    rows[#rows + 1] = { text = line, marks = marks }
  end
  add({ { ("Plan %s compared with %s"):format(M.short(diff.b), M.short(diff.a)), "AgentLspRoot" } })
  if diff.identical then
    add({ { "identical", "AgentLspDim" } })
    return rows
  end
  add({ { ("%s of %s tokens, before %s of %s"):format(
    text.tokens(diff.budgetB.estimated),
    text.tokens(diff.budgetB.prompt),
    text.tokens(diff.budgetA.estimated),
    text.tokens(diff.budgetA.prompt)
  ), "AgentLspDim" } })
  for _, part in ipairs({
    { "in now, out before", diff["in"], "AgentLspIn" },
    { "out now, in before", diff.out, "AgentLspOut" },
    { "new, in", diff.new, "AgentLspIn" },
    { "new, out", diff.newOut, "AgentLspOut" },
    { "no candidate any more", diff.gone, "AgentLspOut" },
    { "another reason or size", diff.changed, "AgentLspText" },
  }) do
    local list = part[2] or {}
    if #list > 0 then
      add({})
      add({ { ("%s (%d)"):format(part[1], #list), "AgentLspHeading" } })
      for _, item in ipairs(list) do
        local name = (labels[item.id] or {}).label or item.id
        local before = item.before and (", before %s %d"):format(item.before.reason, item.before.tokens) or ""
        add({
          { "  " .. text.pad(item.section, 12) .. "  ", M.group(item.section) },
          { text.pad(text.cut(text.first_line(name), 44, g.cut), 44) .. " ", part[3] },
          { text.pad_left(text.thousands(item.tokens, g.thin), 7) .. "   ", "AgentLspNumber" },
          { item.reason .. before, "AgentLspDim" },
        })
      end
    end
  end
  return rows
end

return M
