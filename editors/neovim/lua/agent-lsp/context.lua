--- :AgentContext: what the model was given, what was left out, and why.
local client = require("agent-lsp.client")
local config = require("agent-lsp.config")
local lines = require("agent-lsp.context_lines")
local page = require("agent-lsp.page")

local M = {}

---@type { plan: agent_lsp.PlanResult, rows: agent_lsp.ContextRow[], filter: string?, buf: integer, session: agent_lsp.Session }?
local shown

--- Which of the branch's turns a plan is of, from 1; nil of another branch's.
---@param s agent_lsp.Session
---@param plan agent_lsp.PlanResult
local function turn_of(s, plan)
  for i, c in ipairs(s.model.cycles) do
    if (s.meta.cycles[c.id] or {}).turnId == plan.turnId then
      return i
    end
  end
end

---@param s agent_lsp.Session
---@param plan agent_lsp.PlanResult
---@param filter string?
local function rows_of(s, plan, filter)
  return lines.rows(plan, { width = vim.o.columns, ascii = config.values.ascii, filter = filter, turn = turn_of(s, plan) })
end

local function draw()
  assert(shown)
  shown.rows = rows_of(shown.session, shown.plan, shown.filter)
  page.put(shown.buf, shown.rows)
end

---@return agent_lsp.ContextRow?
local function here()
  return shown and shown.rows[vim.api.nvim_win_get_cursor(0)[1]]
end

local function open_source()
  local row = here()
  local label = row and row.label
  if label and label.uri then
    require("agent-lsp.windows").open_file(vim.uri_to_fname(label.uri), label.startLine or 1)
  elseif row and row.item then
    client.say("this item has no file to open")
  end
end

--- What a pin names: a piece of a file, or a message.
---@param row agent_lsp.ContextRow
local function target(row)
  local label = row.label or {}
  if not label.uri then
    return { messageId = row.item.id }
  end
  local range
  if label.startLine and label.endLine then
    range = { start = { line = label.startLine - 1, character = 0 }, ["end"] = { line = label.endLine, character = 0 } }
  end
  return { uri = label.uri, range = range }
end

---@param method string
---@param exclude boolean?
---@param words string
local function mark(method, exclude, words)
  return function()
    local row = here()
    if not row or not row.item then
      return
    end
    local params = shown.session:ref(target(row))
    params.exclude = exclude
    shown.session.gate.request(method, params, function(err)
      client.say(err and client.explain(err) or ("%s %s, from the next call on"):format(row.label.label, words), err and vim.log.levels.WARN or nil)
    end)
  end
end

local function compare()
  local s, plan = shown.session, shown.plan
  local before
  for _, c in ipairs(s.model.cycles) do
    for _, id in ipairs((s.meta.cycles[c.id] or {}).plans or {}) do
      if id == plan.planId then
        goto found
      end
      before = id
    end
  end
  ::found::
  if not before then
    client.say("this is the branch's first plan")
    return
  end
  s.gate.request("agent/plan/diff", { a = before, b = plan.planId }, function(err, diff)
    if err then
      client.say(client.explain(err), vim.log.levels.WARN)
      return
    end
    page.open("context-diff", lines.diff_rows(diff, plan.labels or {}, { ascii = config.values.ascii }))
  end)
end

--- Shows a plan; without an id the branch's latest.
---@param plan_id string?
function M.open(plan_id)
  local s = client.get()
  if not s then
    return
  end
  s.gate.request("agent/plan", s:ref({ planId = plan_id }), function(err, plan)
    if err then
      client.say(client.explain(err), vim.log.levels.WARN)
      return
    end
    local rows = rows_of(s, plan)
    local buf, fresh = page.open("context", rows)
    shown = { plan = plan, rows = rows, buf = buf, session = s }
    if not fresh then
      return
    end
    local function map(lhs, what, fn)
      vim.keymap.set("n", lhs, fn, { buffer = buf, nowait = true, desc = "agent-lsp: " .. what })
    end
    map("<CR>", "open", open_source)
    map("p", "pin", mark("agent/pin", nil, "is pinned"))
    map("x", "exclude", mark("agent/pin", true, "stays out"))
    map("u", "neither pinned nor excluded", mark("agent/unpin", nil, "is neither pinned nor excluded"))
    map("d", "compare with the previous plan", compare)
    map("f", "filter", function()
      vim.ui.input({ prompt = "Rows with: ", default = shown.filter }, function(words)
        if words then
          shown.filter = words ~= "" and words or nil
          draw()
        end
      end)
    end)
  end)
end

return M
