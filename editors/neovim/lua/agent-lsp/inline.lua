--- Pending hunks in their buffers: drawn, followed while the person types above
--- them, with keys while there are any.
local client = require("agent-lsp.client")
local config = require("agent-lsp.config")
local hunks = require("agent-lsp.hunks")

local M = {}

M.NS = vim.api.nvim_create_namespace("agent_lsp_hunks")
local ANCHORS = vim.api.nvim_create_namespace("agent_lsp_hunk_anchors")

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

--- What the keys do; loaded when one is pressed.
local function review()
  return require("agent-lsp.review")
end

local VERBS = {
  next = function()
    review().go(1)
  end,
  prev = function()
    review().go(-1)
  end,
  accept = function()
    review().resolve("accept")
  end,
  reject = function()
    review().resolve("reject")
  end,
  accept_file = function()
    review().resolve("accept", { file = true })
  end,
  reject_file = function()
    review().resolve("reject", { file = true })
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
function M.draw(bufnr)
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
      M.draw(bufnr)
    end
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
  local group = vim.api.nvim_create_augroup("agent_lsp_inline", {})
  vim.api.nvim_create_autocmd({ "CursorMoved", "CursorMovedI" }, {
    group = group,
    callback = function(ev)
      local d = drawn[ev.buf]
      if d then
        local h = M.at(ev.buf, vim.api.nvim_win_get_cursor(0)[1] - 1)
        local gutter = window_of(ev.buf)
        if (h and h.hunkId) ~= d.current or gutter ~= d.gutter then
          M.draw(ev.buf)
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
