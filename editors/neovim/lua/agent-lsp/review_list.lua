--- All pending hunks as a linear list: the quickfix window.
local client = require("agent-lsp.client")
local config = require("agent-lsp.config")
local hunks = require("agent-lsp.hunks")
local text = require("agent-lsp.text")

local M = {}

--- "3 hunks in 2 files"
---@param s agent_lsp.Session
function M.count(s)
  local _, files = s:all_hunks()
  return ("%s in %s"):format(text.count(s.pending, "hunk"), text.count(files, "file"))
end

--- The quickfix list's entries. Pure but for file names.
---@param list agent_lsp.Hunk[]
---@param ascii boolean?
function M.items(list, ascii)
  local out = {}
  for i, h in ipairs(list) do
    local first, after = hunks.span(h)
    local words = ("%-7s %s"):format(hunks.size(h, ascii), hunks.summary(h))
    if h.status == "conflict" then
      words = "conflict " .. words
    end
    if h.file then
      words = ("file %s  %s"):format(h.file, words)
    end
    out[i] = {
      filename = vim.uri_to_fname(h.uri),
      lnum = first + 1,
      end_lnum = math.max(first + 1, after),
      text = words,
      type = h.status == "conflict" and "W" or "",
      user_data = { agentHunk = h.hunkId },
    }
  end
  return out
end

local function title(s)
  return "agent: " .. M.count(s)
end

local list_id ---@type integer?

--- Keeps an open review list current.
---@param s agent_lsp.Session
function M.refresh(s)
  if list_id and vim.fn.getqflist({ id = list_id }).id == list_id then
    local idx = vim.fn.getqflist({ id = list_id, idx = 0 }).idx
    local items = M.items((s:all_hunks()), config.values.ascii)
    vim.fn.setqflist({}, "r", { id = list_id, items = items, title = title(s), idx = math.max(1, math.min(idx, #items)) })
  end
end

--- The hunk of the quickfix entry under the cursor, if the list is ours.
local function quickfix_hunk()
  local info = vim.fn.getqflist({ id = 0, items = 1 })
  if info.id ~= list_id then
    return nil
  end
  local item = info.items[vim.fn.line(".")]
  return item and type(item.user_data) == "table" and item.user_data.agentHunk or nil
end

--- All pending hunks as a list: <CR> goes there, a accepts, r rejects.
function M.open()
  local s = client.of()
  if not s or s.pending == 0 then
    client.say("no hunks to review")
    return
  end
  vim.fn.setqflist({}, " ", { items = M.items((s:all_hunks()), config.values.ascii), title = title(s) })
  list_id = vim.fn.getqflist({ id = 0 }).id
  vim.cmd("botright copen " .. math.min(10, s.pending + 1))
  for lhs, decision in pairs({ a = "accept", r = "reject" }) do
    vim.keymap.set("n", lhs, function()
      local id = quickfix_hunk()
      if not id then
        vim.api.nvim_feedkeys(lhs, "n", false)
        return
      end
      s.gate.request("agent/edits/resolve", { decision = decision, hunkIds = { id } }, function(err)
        if err then
          client.say(client.explain(err), vim.log.levels.WARN)
        end
      end)
    end, { buffer = true, desc = "agent-lsp: " .. decision .. " hunk" })
  end
end

return M
