--- Rows of what the server tells beside the steps: the route, what happened to
--- the run, the workflow's checklist, a call's own loop. The same words and
--- glyphs as in the terminal. Pure.
local text = require("agent-lsp.text")

local M = {}

local CHIPS_MAX = 4 -- of one row
local NAME_CELLS_MAX = 48 -- of a chip, of a note beside a step

---@param p agent_lsp.Painter
---@param list agent_lsp.Chip[]
---@return agent_lsp.Piece[]
local function chips(p, list)
  local out = {}
  for i, chip in ipairs(list) do
    if i > CHIPS_MAX then
      out[#out + 1] = { (" +%d"):format(#list - CHIPS_MAX), "AgentLspDim" }
      break
    end
    local name = text.cut(text.first_line(chip.text), NAME_CELLS_MAX, p.g.cut)
    out[#out + 1] = { ("%s[%s]"):format(i > 1 and " " or "", name), "AgentLspChip" }
  end
  return out
end

--- Which tools the model was told of, if not simply all of them, and what the
--- message said beside its words.
---@param p agent_lsp.Painter
---@param id string of the cycle
---@param meta agent_lsp.CycleMeta
function M.route(p, id, meta)
  local route = meta.route or ""
  local narrow = route ~= "" and route ~= "ALL"
  local list = meta.chips or {}
  if not narrow and #list == 0 then
    return
  end
  local why = narrow and (meta.routeWhy or "") ~= "" and p.g.between .. text.first_line(meta.routeWhy) or ""
  p:row(id .. "/route", 2, {
    { p.g.route .. " ", "AgentLspGlyph" },
    { "route  ", "AgentLspTool" },
    { text.first_line(route) .. why, "AgentLspDim" },
  }, chips(p, list), { kind = "route", text = why })
end

--- What happened to a run: retries, escalations, and what left the context,
--- with the handle that gives it back.
---@param p agent_lsp.Painter
---@param id string
---@param meta agent_lsp.CycleMeta
function M.notes(p, id, meta)
  for i, note in ipairs(meta.notes or {}) do
    local glyph = note.kind == "compaction" and p.g.compaction or p.g.note
    local ref = (note.ref or "") ~= "" and note.ref or nil
    p:row(("%s/note/%d"):format(id, i), 2, {
      { ("%s %s: %s"):format(glyph, note.kind, text.first_line(note.text)), "AgentLspDim" },
    }, ref and { { "ref:" .. ref, "AgentLspDim" }, { " [o]", "AgentLspKey" }, { " open", "AgentLspDim" } }, { kind = "note", ref = ref })
  end
end

--- "1 of 4 steps done, 1 skipped"
---@param w agent_lsp.Workflow
local function words_of(w)
  if w.status == "proposed" then
    return text.count(#w.steps, "step") .. " proposed"
  end
  local done, skipped = 0, 0
  for _, s in ipairs(w.steps) do
    done = done + (s.status == "done" and 1 or 0)
    skipped = skipped + (s.status == "skipped" and 1 or 0)
  end
  return ("%d of %s done%s"):format(done, text.count(#w.steps, "step"), skipped > 0 and (", %d skipped"):format(skipped) or "")
end

--- A step's glyph, its highlight, and what stands at its right.
---@param p agent_lsp.Painter
---@param s agent_lsp.WorkflowStep
---@param iter integer how far the run is
local function step_of(p, s, iter)
  local note = text.cut(text.first_line(s.note or ""), NAME_CELLS_MAX, p.g.cut)
  if s.status == "done" then
    return p.g.done, "AgentLspIn", note
  elseif s.status == "failed" then
    return p.g.failed, "AgentLspError", note
  elseif s.status == "skipped" then
    return p.g.cancelled, "AgentLspDim", note ~= "" and "skipped: " .. note or "skipped"
  elseif s.status == "running" and not p.active then -- the run ended in the middle of it
    return p.g.cancelled, "AgentLspDim", "not finished"
  elseif s.status == "running" then
    local words = {}
    if (s.try or 0) > 1 then
      words[1] = ("try %d"):format(s.try)
    end
    local n = iter - (s.started or 0)
    if n > 0 then
      words[#words + 1] = ("iteration %d of %d"):format(n, s.budget)
    end
    return p.spinner, "AgentLspRunning", table.concat(words, p.g.between)
  end
  return p.g.queued, "AgentLspGlyph", note
end

--- The checklist of a turn, live; folded to its first row once all is done.
---@param p agent_lsp.Painter
---@param id string
---@param meta agent_lsp.CycleMeta
function M.workflow(p, id, meta)
  local w = meta.workflow
  if not w then
    return
  end
  local key = id .. "/workflow"
  local open = p:is_open(key, w.status ~= "done")
  local proposed = w.status == "proposed" and p.latest == id
  local data = { kind = "workflow", fold = key, open = open, turn = proposed and meta.turnId or nil, text = w.goal }
  local left = {
    { p.g.workflow .. " ", "AgentLspGlyph" },
    { "workflow  ", "AgentLspTool" },
    { words_of(w), "AgentLspText" },
  }
  if proposed then
    p:offer(key, 2, left, { "a", "approve" }, data)
  else
    p:row(key, 2, left, w.status == "failed" and { { "failed", "AgentLspError" } } or nil, data)
  end
  for i, s in ipairs(open and w.steps or {}) do
    local glyph, group, right = step_of(p, s, meta.iter or 0)
    p:row(("%s/%d"):format(key, i), 4, {
      { glyph .. " ", group },
      { ("%d  "):format(i), "AgentLspNumber" },
      { text.first_line(s.goal), "AgentLspText" },
    }, right ~= "" and { { right, group == "AgentLspError" and group or "AgentLspDim" } } or nil, { kind = "note", text = s.goal })
  end
end

--- A call's own loop, below the call: where it stands, what it took, and what it
--- does now; all that it asked for when the row is opened.
---@param p agent_lsp.Painter
---@param call agent_lsp.Call
---@param meta agent_lsp.CallMeta
---@param name string
---@param key string
---@param indent integer
function M.subtask(p, call, meta, name, key, indent)
  local sub = meta.subtask
  if not sub then
    return
  end
  key = key .. "/subtask"
  local status = call.result and call.result.status
  local running = p.active and not call.result
  local glyph, group = p.g.done, "AgentLspDim"
  local totals = { text.count(sub.iter, "step"), text.count(sub.asked, "call") }
  if running then
    glyph, group, totals[1] = p.spinner, "AgentLspRunning", ("step %d of %d"):format(sub.iter, sub.max)
  elseif not status or status == "cancelled" then
    glyph = p.g.cancelled
  elseif status == "error" then
    glyph, group = p.g.failed, "AgentLspError"
  end
  totals[#totals + 1] = sub.tokens > 0 and text.tokens(sub.tokens) .. " tok" or nil
  local cost = text.cost(sub.costUsd)
  totals[#totals + 1] = cost ~= "" and cost or nil
  totals[#totals + 1] = status and status ~= "cancelled" and text.duration(meta.ms or 0) or nil
  local open = p:is_open(key, false)
  p:row(key, indent, {
    { glyph .. " ", group },
    { name, "AgentLspTarget" },
  }, { { table.concat(totals, p.g.between), group == "AgentLspError" and group or "AgentLspNumber" } }, { kind = "calls", fold = key, open = open, calls = { call } })
  local first = open and 1 or running and math.max(1, #sub.calls) or #sub.calls + 1
  for i = first, #sub.calls do
    p:row(("%s/%d"):format(key, i), indent + 2, { { text.first_line(sub.calls[i]), "AgentLspDim" } }, nil, { kind = "note", text = sub.calls[i] })
  end
end

return M
