--- Inline review: draws pending hunks into their buffers, gives the keys while
--- there are any, goes from hunk to hunk, sends decisions.
local client = require("agent-lsp.client")
local config = require("agent-lsp.config")
local hunks = require("agent-lsp.hunks")
local text = require("agent-lsp.text")

local M = {}

M.NS = vim.api.nvim_create_namespace("agent_lsp_hunks")
local ANCHORS = vim.api.nvim_create_namespace("agent_lsp_hunk_anchors")
local CONFLICT_LINES_MAX = 200 -- of a conflict's texts in its float

---@type table<integer, { uri: string, anchors: table<string, integer>, current: string?, keys: string[], gutter: integer }> by buffer
local drawn = {}

---@param s agent_lsp.Session?
---@param bufnr integer
---@return agent_lsp.Hunk[], string uri
local function of_buffer(s, bufnr)
  local uri = vim.uri_from_bufnr(bufnr)
  return s and s.hunks[uri] or {}, uri
end

--- The session whose hunks a buffer shows.
---@param bufnr integer
local function session_of(bufnr)
  return client.of(bufnr)
end

--- Hunks with the rows that they have now: typing above moves them before the
--- server says so.
---@param bufnr integer
---@return agent_lsp.Hunk[]
function M.live(bufnr)
  local list = of_buffer(session_of(bufnr), bufnr)
  local d = drawn[bufnr]
  if not d then
    return list
  end
  local out = {}
  for i, h in ipairs(list) do
    local id = d.anchors[h.hunkId]
    local at = id and vim.api.nvim_buf_get_extmark_by_id(bufnr, ANCHORS, id, { details = true })
    local moved = h
    if at and at[1] then
      moved = vim.tbl_extend("force", h, {
        range = { start = { line = at[1], character = 0 }, ["end"] = { line = at[3].end_row or at[1], character = 0 } },
      })
    end
    out[i] = moved
  end
  return out
end

--- The hunk under a window's cursor.
---@param bufnr integer
---@param row integer 0-based
function M.at(bufnr, row)
  return hunks.at(M.live(bufnr), row)
end

local function label_of(name)
  local lhs = config.values.keys[name]
  return lhs and config.label(lhs) or nil
end

--- What the hint of the current hunk says of the keys that really are set.
---@return string[]
local function key_words(set)
  local words = {}
  for _, k in ipairs({ { "accept", "accept" }, { "reject", "reject" }, { "next", "next" } }) do
    local label = set[k[1]] and label_of(k[1])
    words[#words + 1] = label and label .. " " .. k[2] or nil
  end
  return words
end

local VERBS = {
  next = function()
    M.go(1)
  end,
  prev = function()
    M.go(-1)
  end,
  accept = function()
    M.resolve("accept")
  end,
  reject = function()
    M.resolve("reject")
  end,
  accept_file = function()
    M.resolve("accept", { file = true })
  end,
  reject_file = function()
    M.resolve("reject", { file = true })
  end,
}

--- Sets the keys of a buffer with hunks. One of the person's own on the same
--- keys stays, unless setup named it.
---@return table<string, boolean> which verbs have their key
local function set_keys(bufnr)
  local set = {}
  for name, fn in pairs(VERBS) do
    local lhs = config.values.keys[name]
    local chosen = (config.given.keys or {})[name]
    if lhs then
      local mine = vim.api.nvim_buf_call(bufnr, function()
        return vim.fn.maparg(lhs, "n", false, true)
      end)
      if chosen or vim.tbl_isempty(mine) then
        vim.keymap.set("n", lhs, fn, { buffer = bufnr, desc = "agent-lsp: " .. name:gsub("_", " ") .. " hunk" })
        set[name] = true
      end
    end
  end
  return set
end

local function unset_keys(bufnr, set)
  for name in pairs(set) do
    pcall(vim.keymap.del, "n", config.values.keys[name], { buffer = bufnr })
  end
end

--- Cells before the text and of the whole window that a buffer is shown in.
local function window_of(bufnr)
  local win = vim.fn.bufwinid(bufnr)
  if win == -1 then
    return 6, 80, nil
  end
  local info = vim.fn.getwininfo(win)[1]
  local sign = vim.wo[win].signcolumn
  local gutter = info.textoff
  if sign:match("^auto") and #vim.fn.sign_getplaced(bufnr)[1].signs == 0 and not drawn[bufnr] then
    gutter = gutter + 2 -- the signs that are about to be placed
  end
  return gutter, info.width, win
end

--- Draws one buffer's hunks anew.
---@param bufnr integer
local function draw(bufnr)
  local s = session_of(bufnr)
  local list, uri = of_buffer(s, bufnr)
  local d = drawn[bufnr]
  if #list == 0 then
    if d then
      vim.api.nvim_buf_clear_namespace(bufnr, M.NS, 0, -1)
      vim.api.nvim_buf_clear_namespace(bufnr, ANCHORS, 0, -1)
      unset_keys(bufnr, d.set)
      drawn[bufnr] = nil
    end
    return
  end
  assert(s)
  local gutter, width, win = window_of(bufnr)
  if not d then
    d = { uri = uri, anchors = {}, set = set_keys(bufnr) }
    drawn[bufnr] = d
  end
  local version = vim.lsp.util.buf_versions[bufnr]
  local last = vim.api.nvim_buf_line_count(bufnr)
  local live = M.live(bufnr)
  local anchors = {}
  for i, h in ipairs(list) do
    if not d.anchors[h.hunkId] or not h.version or h.version == version then
      live[i] = h -- the server's word is about this very text
    end
  end
  vim.api.nvim_buf_clear_namespace(bufnr, ANCHORS, 0, -1)
  for _, h in ipairs(live) do
    local first, after = hunks.span(h)
    first = math.min(first, last)
    anchors[h.hunkId] = vim.api.nvim_buf_set_extmark(bufnr, ANCHORS, first, 0, {
      end_row = math.max(first, math.min(after, last)),
      end_col = 0,
      right_gravity = after <= first,
      end_right_gravity = true,
      strict = false,
    })
  end
  d.anchors, d.gutter = anchors, gutter
  local row = win and vim.api.nvim_win_get_cursor(win)[1] - 1
  local current = row and hunks.at(live, row)
  d.current = current and current.hunkId
  vim.api.nvim_buf_clear_namespace(bufnr, M.NS, 0, -1)
  for _, m in ipairs(hunks.marks(live, {
    lines = last,
    width = width,
    gutter = gutter,
    tabstop = vim.bo[bufnr].tabstop,
    ascii = config.values.ascii,
    current = d.current,
    room = win and function(r)
      local line = vim.api.nvim_buf_get_lines(bufnr, r, r + 1, false)[1] or ""
      return width - gutter - vim.api.nvim_buf_call(bufnr, function()
        return vim.fn.strdisplaywidth(line)
      end) - 1
    end or nil,
    keys = key_words(d.set),
    why = s:steps_by_call(),
  })) do
    vim.api.nvim_buf_set_extmark(bufnr, M.NS, m.row, m.col, m.opts)
  end
  if win and vim.fn.line("w0", win) == 1 then -- Neovim hides virtual lines above the first line
    local above = 0
    for _, h in ipairs(live) do
      if hunks.span(h) == 0 and not h.held then
        above = #hunks.lines(h.baseText)
      end
    end
    if above > 0 and vim.api.nvim_win_get_cursor(win)[1] <= vim.api.nvim_win_get_height(win) - above then
      vim.api.nvim_win_call(win, function()
        vim.fn.winrestview({ topfill = above })
      end)
    end
  end
end

--- Draws all loaded buffers.
function M.draw_all()
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].buftype == "" then
      draw(bufnr)
    end
  end
end

local had = 0

--- New hunks: their first is scrolled to in a window where nobody types.
---@param s agent_lsp.Session
function M.changed(s)
  M.draw_all()
  if had == 0 and s.pending > 0 then
    local here = vim.api.nvim_get_current_win()
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      local bufnr = vim.api.nvim_win_get_buf(win)
      local list = M.live(bufnr)
      if win ~= here and #list > 0 and vim.bo[bufnr].buftype == "" then
        local first = math.min(hunks.span(list[1]) + 1, vim.api.nvim_buf_line_count(bufnr))
        vim.api.nvim_win_set_cursor(win, { first, 0 })
        vim.api.nvim_win_call(win, function()
          vim.cmd("normal! zz")
        end)
        draw(bufnr)
      end
    end
  end
  had = s.pending
  M.refresh_list(s)
end

--- "3 hunks in 2 files"
---@param s agent_lsp.Session
local function count(s)
  local _, files = s:all_hunks()
  return ("%s in %s"):format(text.count(s.pending, "hunk"), text.count(files, "file"))
end

--- Goes to a hunk's first line, in the window for files.
---@param h agent_lsp.Hunk
function M.show(h)
  local panel = require("agent-lsp.panel")
  local bufnr = vim.uri_to_bufnr(h.uri)
  if vim.bo.buftype ~= "" then
    vim.api.nvim_set_current_win(panel.file_window())
  end
  if vim.api.nvim_get_current_buf() ~= bufnr then
    vim.bo[bufnr].buflisted = true
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_buf(0, bufnr)
    draw(bufnr)
  else
    vim.cmd("normal! m'")
  end
  for _, l in ipairs(M.live(bufnr)) do
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
  local beside = hunks.beside(M.live(bufnr), row, step)
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
    local list = s.hunks[uris[to]]
    beside = step > 0 and list[1] or list[#list]
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
    for _, h in ipairs(M.live(bufnr)) do
      if hunks.within(h, opts.lines[1] - 1, opts.lines[2] - 1) then
        table.insert(params.hunkIds, h.hunkId)
      end
    end
  else
    local h = M.at(bufnr, vim.api.nvim_win_get_cursor(0)[1] - 1)
    params.hunkIds = { h and h.hunkId }
  end
  if params.hunkIds and #params.hunkIds == 0 then
    local more = s.pending > 0 and ("; %s: :AgentNext"):format(count(s)) or ""
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

--- Both texts of a conflict, or of any hunk, side by side in words.
function M.texts()
  local bufnr = vim.api.nvim_get_current_buf()
  local h = M.at(bufnr, vim.api.nvim_win_get_cursor(0)[1] - 1)
  if not h then
    client.say("no hunk under the cursor")
    return
  end
  local lines = {}
  local function add(title, s)
    lines[#lines + 1] = title
    for i, line in ipairs(hunks.lines(s)) do
      if i <= CONFLICT_LINES_MAX then
        lines[#lines + 1] = line
      end
    end
  end
  add("before the agent:", h.baseText)
  add("from the agent:", h.newText)
  vim.lsp.util.open_floating_preview(lines, vim.bo[bufnr].filetype, { border = "rounded", focus_id = "agent-lsp-hunk" })
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
  return "agent: " .. count(s)
end

local list_id ---@type integer?

--- Keeps an open review list current.
---@param s agent_lsp.Session
function M.refresh_list(s)
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
function M.list()
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

--- Which keys could not be set for lack of room, for :checkhealth.
---@return string[]
function M.missing_keys()
  local out = {}
  for name in pairs(VERBS) do
    local lhs = config.values.keys[name]
    if lhs and vim.fn.maparg(lhs, "n") ~= "" and not (config.given.keys or {})[name] then
      out[#out + 1] = ("%s (%s)"):format(lhs, name)
    end
  end
  table.sort(out)
  return out
end

function M.setup()
  local group = vim.api.nvim_create_augroup("agent_lsp_review", {})
  vim.api.nvim_create_autocmd({ "CursorMoved", "CursorMovedI" }, {
    group = group,
    callback = function(ev)
      local d = drawn[ev.buf]
      if d then
        local h = M.at(ev.buf, vim.api.nvim_win_get_cursor(0)[1] - 1)
        local gutter = window_of(ev.buf)
        if (h and h.hunkId) ~= d.current or gutter ~= d.gutter then
          draw(ev.buf)
        end
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "WinResized", "BufWinEnter" }, {
    group = group,
    callback = function()
      vim.schedule(M.draw_all)
    end,
  })
  vim.api.nvim_create_autocmd("BufUnload", {
    group = group,
    callback = function(ev)
      drawn[ev.buf] = nil
    end,
  })
end

return M
