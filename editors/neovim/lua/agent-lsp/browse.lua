--- Looking back: traces, sessions, models, whole results.
local client = require("agent-lsp.client")
local config = require("agent-lsp.config")
local glyphs = require("agent-lsp.glyphs")
local page = require("agent-lsp.page")
local text = require("agent-lsp.text")

local M = {}

local SCRATCH_BYTES = 1024 * 1024 -- of an archived result shown at once

local function warn(err)
  client.say(client.explain(err), vim.log.levels.WARN)
end

--- A trace as rows. Pure.
---@param t agent_lsp.TraceResult
---@param ascii boolean?
function M.trace_rows(t, ascii)
  local g = glyphs.set(ascii)
  local rows = {}
  local function add(left)
    local line, marks = text.row(left, nil, math.huge, g.cut)
    rows[#rows + 1] = { text = line, marks = marks }
  end
  local signs = {
    ok = { g.done, "AgentLspIn" },
    error = { g.failed, "AgentLspError" },
    refused = { g.refused, "AgentLspError" },
    cancelled = { g.cancelled, "AgentLspDim" },
  }
  add({ { ("Trace of turn %s"):format(t.turnId), "AgentLspRoot" } })
  for _, r in ipairs(t.routes or {}) do
    local to = r.route == "TOOLS" and (#r.categories > 0 and table.concat(r.categories, ", "):upper() or "ALL") or r.route
    add({
      { g.route .. " ", "AgentLspGlyph" },
      { "route  ", "AgentLspTool" },
      { to .. g.between .. text.first_line(r.reason), "AgentLspText" },
      { ("  %s, need %.2f, %s"):format(r.method, r.score, text.duration(r.ms)), "AgentLspDim" },
    })
  end
  add({})
  add({ { ("Tool calls (%d)"):format(#t.calls), "AgentLspHeading" } })
  for _, c in ipairs(t.calls) do
    local sign = signs[c.status] or { g.running[1], "AgentLspRunning" }
    add({
      { "  " .. sign[1] .. " ", sign[2] },
      { text.pad(c.tool, 10) .. " ", "AgentLspTool" },
      { text.pad(text.cut(text.first_line(c.title ~= "" and c.title or vim.json.encode(c.args)), 60, g.cut), 60), "AgentLspText" },
      { text.pad_left(text.duration(c.ms), 12), "AgentLspNumber" },
      { ("  call %d"):format(c.round), "AgentLspDim" },
    })
  end
  add({})
  add({ { ("Model calls (%d)"):format(#t.usage), "AgentLspHeading" } })
  for _, u in ipairs(t.usage) do
    local words = {
      ("%s in (estimated %s)"):format(text.tokens(u.input), text.tokens(u.estimated)),
      text.tokens(u.output) .. " out",
      ("cache %s read, %s written"):format(text.tokens(u.cacheRead), text.tokens(u.cacheWrite)),
    }
    local cost = text.cost(u.costUsd)
    words[#words + 1] = cost ~= "" and cost or nil
    add({
      { ("  %d "):format(u.round), "AgentLspNumber" },
      { text.pad(u.model, 24) .. " ", "AgentLspTool" },
      { table.concat(words, g.between), "AgentLspText" },
      { text.pad_left(text.duration(u.ms), 12), "AgentLspNumber" },
    })
  end
  for _, r in ipairs(t.rounds) do
    add({})
    add({ { ("Call %d: what was sent, and what came back"):format(r.round), "AgentLspHeading" } })
    for _, part in ipairs({ r.request, r.response }) do
      for _, line in ipairs(text.lines(vim.inspect(part))) do
        add({ { "  " .. text.clean(line), "AgentLspDim" } })
      end
    end
  end
  return rows
end

--- The latest turn's trace, loaded now and not before.
function M.trace()
  local s = client.get()
  if not s then
    return
  end
  s.gate.request("agent/trace", s:ref(), function(err, t)
    if err then
      return warn(err)
    end
    page.open("trace", M.trace_rows(t, config.values.ascii))
  end)
end

---@param name string
---@param body string
local function show_text(name, body)
  local rows = {}
  for i, line in ipairs(text.lines(body)) do
    rows[i] = { text = text.clean(line), marks = {} }
  end
  page.open(name, rows)
end

--- The whole result of the call that a row of the tree stands for, or what a
--- note has the handle of.
---@param data table
function M.result(data)
  local call = data.call or (data.calls and data.calls[1])
  local s = client.current
  if not (s and (call or data.ref)) then
    return
  end
  local ref = data.ref
  if call and (not ref or ref == "") then
    ref = (s.meta.calls[call.callId] or {}).ref
  end
  if ref and ref ~= "" then
    s.gate.request("agent/scratchpad", { ref = ref, limit = SCRATCH_BYTES }, function(err, r)
      if err then
        return warn(err)
      end
      local rest = r.total - #r.text
      show_text("result/" .. ref, r.text .. (rest > 0 and ("\n%s %d more bytes"):format(glyphs.set(config.values.ascii).cut, rest) or ""))
    end)
  elseif call and call.result then
    show_text("result/" .. call.callId, call.result.text)
  else
    client.say("there is no result yet")
  end
end

local function when(stamp)
  local ms = text.epoch_ms(stamp)
  return ms and os.date("%Y-%m-%d %H:%M", ms / 1000) or ""
end

function M.sessions()
  local s = client.get()
  if not s then
    return
  end
  s.gate.request("agent/session/list", vim.empty_dict(), function(err, r)
    if err then
      return warn(err)
    end
    local items = vim.list_extend({ { new = true } }, r.sessions or {})
    vim.ui.select(items, {
      prompt = "Session",
      kind = "agent-lsp-session",
      format_item = function(i)
        if i.new then
          return "new session"
        end
        local title = i.title ~= "" and i.title or "untitled"
        return ("%s%s  %s, %s"):format(i.sessionId == s.id and "* " or "", title, text.count(i.turns, "turn"), when(i.lastActive))
      end,
    }, function(choice)
      if not choice then
        return
      elseif choice.new then
        s.gate.request("agent/session/new", vim.empty_dict(), function(failed, made)
          if failed then
            return warn(failed)
          end
          s.answers = {}
          s:load({ sessionId = made.sessionId })
        end)
      else
        s.answers = {}
        s:load({ sessionId = choice.sessionId })
      end
    end)
  end)
end

---@param s agent_lsp.Session
---@param name string
local function set_model(s, name)
  s.gate.request("agent/model/set", s:ref({ model = name }), function(err, r)
    if err then
      return warn(err)
    end
    client.say("the model is " .. r.current)
    s.models = r.models or {}
    s:refresh_status()
  end)
end

--- Lets the person choose a model, then calls fn with its name.
---@param s agent_lsp.Session
---@param prompt string
---@param fn fun(name: string)
function M.pick_model(s, prompt, fn)
  s.gate.request("agent/models", vim.empty_dict(), function(err, r)
    if err then
      return warn(err)
    end
    vim.ui.select(r.models, {
      prompt = prompt,
      kind = "agent-lsp-model",
      format_item = function(m)
        local alias = (m.alias or "") ~= "" and (" (%s)"):format(m.alias) or ""
        return ("%s%s%s  %s"):format(m.current and "* " or m.available and "" or "- ", m.name, alias, m.why)
      end,
    }, function(m)
      if m then
        fn(m.name)
      end
    end)
  end)
end

---@param name string?
function M.model(name)
  local s = client.get()
  if not s then
    return
  elseif name and name ~= "" then
    set_model(s, name)
  else
    M.pick_model(s, "Model", function(chosen)
      set_model(s, chosen)
    end)
  end
end

return M
