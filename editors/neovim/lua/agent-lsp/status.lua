--- The state in one word, and the status line's few. Pure but for the clock.
local config = require("agent-lsp.config")
local glyphs = require("agent-lsp.glyphs")
local text = require("agent-lsp.text")

local M = {}

---@class agent_lsp.Status
---@field state "starting"|"idle"|"running"|"paused"|"waiting"
---@field pending integer hunks
---@field model string
---@field elapsed number seconds of the current run; 0 when idle
---@field iter? integer
---@field max? integer
---@field down? boolean the server doesn't run and is not started again by itself

---@return integer milliseconds since 1970
function M.now()
  local s, us = vim.uv.gettimeofday()
  return s * 1000 + math.floor(us / 1000)
end

---@param session agent_lsp.Session?
---@return agent_lsp.Status
function M.of(session)
  if not session then
    return { state = "idle", pending = 0, model = "", elapsed = 0 }
  end
  local meta = session:active_meta()
  local out = { state = "idle", pending = session.pending, model = "", elapsed = 0 }
  out.model = meta and meta.model ~= "" and meta.model or session.status and session.status.model or ""
  if session.down then
    out.down = true
  elseif not session.ready then
    out.state = "starting"
  elseif session:active_cycle() then
    local started = meta and text.epoch_ms(meta.started)
    out.elapsed = started and math.max(0, M.now() - started) / 1000 or 0
    out.iter, out.max = meta and meta.iter, meta and meta.max
    if session:paused() then
      out.state = "paused"
    elseif meta and meta.state == "asking" then
      out.state = "waiting"
    else
      out.state = "running"
    end
  end
  return out
end

--- "agent ● 3/40 sonnet 12s"
---@param s agent_lsp.Status
---@param no_model boolean
---@param ascii boolean?
---@return string
function M.words(s, no_model, ascii)
  local g = glyphs.set(ascii)
  if s.state == "starting" then
    return "agent " .. g.running[1] .. " starting"
  elseif s.state == "paused" then
    return "agent " .. g.paused .. " paused"
  elseif s.state == "waiting" then
    return "agent " .. g.waiting .. " asks you"
  elseif s.state == "running" then
    local words = { "agent", g.active }
    if s.max and s.max > 0 then
      words[#words + 1] = ("%d/%d"):format(s.iter or 0, s.max)
    end
    words[#words + 1] = (s.model:gsub("^.*/", ""))
    words[#words + 1] = text.short_duration(s.elapsed * 1000)
    return table.concat(words, " ")
  elseif s.down then
    return "agent " .. g.warn .. " not running"
  elseif s.pending > 0 then
    return ("agent %s %s"):format(g.waiting, text.count(s.pending, "hunk"))
  elseif no_model then
    return "agent " .. g.warn .. " no model"
  end
  return "agent " .. g.idle
end

---@param session agent_lsp.Session?
---@return string
function M.line(session)
  local s = M.of(session)
  local no_model = session ~= nil and session.status ~= nil and session.status.model == ""
  return M.words(s, no_model, config.values.ascii)
end

return M
