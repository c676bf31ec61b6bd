--- Review: goes from hunk to hunk, sends decisions, shows both texts.
local client = require("agent-lsp.client")
local hunks = require("agent-lsp.hunks")
local inline = require("agent-lsp.inline")
local review_list = require("agent-lsp.review_list")
local text = require("agent-lsp.text")

local M = {}

local CONFLICT_LINES_MAX = 200 -- of a conflict's texts in its float

local had = 0

--- New hunks: their first is scrolled to in a window where nobody types.
---@param s agent_lsp.Session
function M.changed(s)
  inline.draw_all()
  if had == 0 and s.pending > 0 then
    local here = vim.api.nvim_get_current_win()
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      local bufnr = vim.api.nvim_win_get_buf(win)
      local first_hunk = inline.live(bufnr)[1]
      if win ~= here and first_hunk and vim.bo[bufnr].buftype == "" then
        local first = math.min(hunks.span(first_hunk) + 1, vim.api.nvim_buf_line_count(bufnr))
        vim.api.nvim_win_set_cursor(win, { first, 0 })
        vim.api.nvim_win_call(win, function()
          vim.cmd("normal! zz")
        end)
        inline.draw(bufnr)
      end
    end
  end
  had = s.pending
  review_list.refresh(s)
end

--- Goes to a hunk's first line, in the window for files.
---@param h agent_lsp.Hunk
function M.show(h)
  local bufnr = vim.uri_to_bufnr(h.uri)
  if vim.bo.buftype ~= "" then
    vim.api.nvim_set_current_win(require("agent-lsp.windows").file_window())
  end
  if vim.api.nvim_get_current_buf() ~= bufnr then
    vim.bo[bufnr].buflisted = true
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_buf(0, bufnr)
    inline.draw(bufnr)
  else
    vim.cmd("normal! m'")
  end
  for _, l in ipairs(inline.live(bufnr)) do
    h = l.hunkId == h.hunkId and l or h
  end
  local first = hunks.span(h)
  vim.api.nvim_win_set_cursor(0, { math.min(first + 1, vim.api.nvim_buf_line_count(bufnr)), 0 })
  vim.cmd("normal! zv")
  local lines = #hunks.lines(h.baseText) + #hunks.lines(h.newText)
  if vim.fn.winline() + lines > vim.api.nvim_win_get_height(0) or vim.fn.winline() <= #hunks.lines(h.baseText) then
    vim.cmd("normal! zz")
  end
end

--- The next hunk, or the last one before: in this file, then in the others.
---@param step 1|-1
function M.go(step)
  local s = client.of()
  local all = s and s:all_hunks() or {}
  if not s or #all == 0 then
    client.say("no hunks to review")
    return
  end
  local bufnr = vim.api.nvim_get_current_buf()
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  local beside = hunks.beside(inline.live(bufnr), row, step)
  if not beside then
    local uri, at = vim.uri_from_bufnr(bufnr), nil
    local uris, seen = {}, {}
    for _, h in ipairs(all) do
      if not seen[h.uri] then
        seen[h.uri] = true
        uris[#uris + 1] = h.uri
      end
    end
    for i, u in ipairs(uris) do
      if u == uri then
        at = i
      end
    end
    if not at then -- a file without hunks: by its place among the others
      at = step > 0 and 0 or #uris + 1
      for i, u in ipairs(uris) do
        if step > 0 and u < uri then
          at = i
        elseif step < 0 and u > uri and at == #uris + 1 then
          at = i
        end
      end
    end
    local to = (at - 1 + step) % #uris + 1
    local there = s.hunks[uris[to]]
    beside = step > 0 and there[1] or there[#there]
  end
  M.show(beside)
end

---@class agent_lsp.ResolveOptions
---@field file? boolean all hunks of the file
---@field all? boolean all hunks of all files
---@field lines? { [1]: integer, [2]: integer } 1-based, inclusive: the hunks in them
---@field reason? string

--- Sends a decision on the hunk under the cursor, or on what opts say.
---@param decision "accept"|"reject"
---@param opts agent_lsp.ResolveOptions?
function M.resolve(decision, opts)
  opts = opts or {}
  local bufnr = vim.api.nvim_get_current_buf()
  local s = client.of(bufnr)
  if not s then
    client.say("no hunks to review")
    return
  end
  local params = { decision = decision, reason = opts.reason }
  if opts.all then
    params.all = true
  elseif opts.file then
    params.uri = vim.uri_from_bufnr(bufnr)
  elseif opts.lines then
    params.hunkIds = {}
    for _, h in ipairs(inline.live(bufnr)) do
      if hunks.within(h, opts.lines[1] - 1, opts.lines[2] - 1) then
        table.insert(params.hunkIds, h.hunkId)
      end
    end
  else
    local h = inline.at(bufnr, vim.api.nvim_win_get_cursor(0)[1] - 1)
    params.hunkIds = { h and h.hunkId }
  end
  if params.hunkIds and #params.hunkIds == 0 then
    local more = s.pending > 0 and ("; %s: :AgentNext"):format(review_list.count(s)) or ""
    client.say(("no hunk %s%s"):format(opts.lines and "in these lines" or "under the cursor", more))
    return
  end
  s.gate.request("agent/edits/resolve", params, function(err, r)
    if err then
      client.say(client.explain(err), vim.log.levels.WARN)
      return
    end
    for _, result in ipairs(r.results or {}) do
      if result.outcome == "conflict" then
        client.say("conflict: " .. (result.detail or "both texts are kept"), vim.log.levels.WARN)
      end
    end
  end)
end

--- Brings the hunks of the last reject back.
function M.undo_reject()
  local s = client.get()
  if not s then
    return
  end
  s.gate.request("agent/edits/undoReject", vim.empty_dict(), function(err, r)
    if err then
      client.say(client.explain(err), vim.log.levels.WARN)
      return
    end
    local back = 0
    for _, result in ipairs(r.results) do
      if result.outcome == "resolved" then
        back = back + 1
      else
        client.say(("%s: %s"):format(result.hunkId, result.detail or ""), vim.log.levels.WARN)
      end
    end
    client.say(("%s back for review"):format(text.count(back, "hunk")))
  end)
end

--- Both texts of a hunk, one below the other; of a conflict also what stands in
--- the file, where that is neither.
function M.texts()
  local bufnr = vim.api.nvim_get_current_buf()
  local h = inline.at(bufnr, vim.api.nvim_win_get_cursor(0)[1] - 1)
  if not h then
    client.say("no hunk under the cursor")
    return
  end
  local lines = {}
  local function add(title, list)
    lines[#lines + 1] = title
    vim.list_extend(lines, list, 1, math.min(#list, CONFLICT_LINES_MAX))
  end
  local before, new = hunks.lines(h.baseText), hunks.lines(h.newText)
  add("before the agent:", before)
  if h.status == "conflict" then
    local first, after = hunks.span(h)
    local now = vim.api.nvim_buf_get_lines(bufnr, first, after, false)
    local seen = vim.deep_equal(now, new) or vim.deep_equal(now, before)
    add("from the agent, with your changes:", new)
    if not seen then
      add("now in the file:", now)
    end
  else
    add("from the agent:", new)
  end
  vim.lsp.util.open_floating_preview(lines, vim.bo[bufnr].filetype, { border = "rounded", focus_id = "agent-lsp-hunk" })
end

return M
