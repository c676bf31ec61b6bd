--- Putting a turn back: its files, its conversation or both, shown beforehand,
--- and again.
local client = require("agent-lsp.client")
local config = require("agent-lsp.config")
local glyphs = require("agent-lsp.glyphs")
local text = require("agent-lsp.text")

local M = {}

local last_restore ---@type string? takes the last restore back

--- "greet.go (+4 −4)"
---@param f agent_lsp.CheckpointFile
local function file_words(f)
  local g = glyphs.set(config.values.ascii)
  return ("%s (+%d %s%d)"):format(f.path, f.added, g.minus, f.removed)
end

---@param r agent_lsp.RestoreResult
local function turns_words(r)
  return "the conversation from before its last " .. (r.turns == 1 and "turn" or text.count(r.turns, "turn"))
end

---@param r agent_lsp.RestoreResult
---@return string[]
local function skipped_words(r)
  return vim.tbl_map(function(f)
    return ("%s left alone: %s"):format(f.path, f.skipped or "")
  end, r.skipped)
end

---@param r agent_lsp.RestoreResult
---@param verb string
local function words_of(r, verb)
  local words = vim.tbl_map(file_words, r.restored)
  words[#words + 1] = (r.turns or 0) > 0 and turns_words(r) or nil
  local back = #words > 0 and ("%s %s"):format(verb, table.concat(words, ", ")) or "nothing to put back"
  return table.concat(vim.list_extend({ back }, skipped_words(r)), "; ")
end

--- What can be put back, each with what it would change: the choices of a
--- dry run of both. Pure.
---@param r agent_lsp.RestoreResult
---@return { what: string, words: string }[]
function M.choices(r)
  local out = {}
  if #r.restored > 0 then
    local words = vim.list_extend(vim.tbl_map(file_words, r.restored), skipped_words(r))
    out[#out + 1] = { what = "files", words = "files: " .. table.concat(words, ", ") }
  end
  if (r.turns or 0) > 0 then
    out[#out + 1] = { what = "conversation", words = turns_words(r) }
  end
  if #out == 2 then
    out[3] = { what = "both", words = "both" }
  end
  return out
end

---@param s agent_lsp.Session
---@param params table
---@param done fun(r: agent_lsp.RestoreResult)
local function request(s, params, done)
  s.gate.request("agent/checkpoint/restore", s:ref(params), function(err, r)
    if err then
      client.say(client.explain(err), vim.log.levels.WARN)
    else
      done(r)
    end
  end)
end

---@param s agent_lsp.Session
---@param params table
local function restore(s, params)
  request(s, params, function(r)
    last_restore = r.restoreId
    client.say(words_of(r, "put back"))
    if r.branchId then
      s:load({ sessionId = s.id, branchId = r.branchId })
    end
    vim.cmd.checktime()
  end)
end

--- Lets the person choose, having read what each choice would change.
---@param s agent_lsp.Session
local function choose(s)
  request(s, { what = "both", dryRun = true }, function(r)
    local list = M.choices(r)
    if #list == 0 then
      client.say(words_of(r, "would put back"))
      return
    end
    vim.ui.select(list, {
      prompt = "Put back, as before the latest turn (:AgentUndoTurn redo brings it again)",
      kind = "agent-lsp-restore",
      format_item = function(choice)
        return choice.words
      end,
    }, function(choice)
      if choice then
        restore(s, { what = choice.what })
      end
    end)
  end)
end

--- Puts files, the conversation or both back as they stood before the latest
--- turn; shows what would change; or takes that back. Without a word the person
--- chooses; where nobody sits at a screen, it is the files.
---@param what ""|"files"|"conversation"|"both"|"preview"|"redo"
function M.undo_turn(what)
  local s = client.get()
  if not s then
    return
  elseif what == "preview" then
    request(s, { what = "both", dryRun = true }, function(r)
      client.say(words_of(r, "would put back"))
    end)
  elseif what == "redo" and not last_restore then
    client.say("nothing was put back here that could come again")
  elseif what == "redo" then
    restore(s, { redo = last_restore })
  elseif what == "" and #vim.api.nvim_list_uis() > 0 then
    choose(s)
  else
    restore(s, { what = what ~= "" and what or "files" })
  end
end

return M
