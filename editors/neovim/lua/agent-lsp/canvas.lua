--- Rows in a buffer, kept current: only what differs is written, and whoever
--- looks at it stays where they are.
local M = {}

local NS = vim.api.nvim_create_namespace("agent_lsp_panel")

--- Colours of fenced code, by the language's own parser where there is one.
---@param buf integer
---@param rows agent_lsp.Row[]
---@param first integer
---@param last integer
local function colour_code(buf, rows, first, last)
  local row = first
  while row <= last do
    local code = rows[row].code
    if not code or code.lang == "" then
      row = row + 1
    else
      local to = row
      while to < #rows and rows[to + 1].code and rows[to + 1].code.lang == code.lang do
        to = to + 1
      end
      local lines = {}
      for i = row, to do
        lines[#lines + 1] = rows[i].text:sub(rows[i].code.col + 1)
      end
      local lang = vim.treesitter.language.get_lang(code.lang) or code.lang
      local source = table.concat(lines, "\n")
      local ok, parser = pcall(vim.treesitter.get_string_parser, source, lang)
      local query = ok and parser and vim.treesitter.query.get(lang, "highlights")
      if query then
        local root = parser:parse()[1]:root()
        for id, node in query:iter_captures(root, source) do
          local r1, c1, r2, c2 = node:range()
          local name = query.captures[id]
          if name:sub(1, 1) ~= "_" and name ~= "spell" then
            local col1 = rows[row + r1].code.col + c1
            local end_row = math.min(row + r2, to)
            pcall(vim.api.nvim_buf_set_extmark, buf, NS, row + r1 - 1, col1, {
              end_row = end_row - 1,
              end_col = rows[end_row].code.col + c2,
              hl_group = "@" .. name .. "." .. lang,
              priority = 120,
              strict = false,
            })
          end
        end
      end
      row = to + 1
    end
  end
end

--- The rows from the first to the last that differ from what is drawn.
---@param old agent_lsp.Row[]
---@param rows agent_lsp.Row[]
---@return integer first, integer old_last, integer new_last
local function changed(old, rows)
  local first = 1
  local function same(a, b)
    return a == b
      or (a.key == b.key and a.text == b.text and vim.deep_equal(a.marks, b.marks) and vim.deep_equal(a.code, b.code))
  end
  while first <= #old and first <= #rows and same(old[first], rows[first]) do
    first = first + 1
  end
  local old_last, new_last = #old, #rows
  while old_last >= first and new_last >= first and same(old[old_last], rows[new_last]) do
    old_last, new_last = old_last - 1, new_last - 1
  end
  return first, old_last, new_last
end

--- Where each window is, by row key, so that rows may come and go above it.
---@param buf integer
---@param rows agent_lsp.Row[]
local function places(buf, rows)
  local out = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
    out[win] = {
      follows = view.lnum >= math.max(1, #rows),
      view = view,
      key = rows[view.lnum] and rows[view.lnum].key,
      top = rows[view.topline] and rows[view.topline].key,
    }
  end
  return out
end

---@param rows agent_lsp.Row[]
local function restore(rows, places_before)
  local at = {}
  for i, row in ipairs(rows) do
    at[row.key] = i
  end
  for win, p in pairs(places_before) do
    if p.follows then
      vim.api.nvim_win_set_cursor(win, { math.max(1, #rows), 0 })
      vim.api.nvim_win_call(win, function()
        if vim.fn.line("w$") < #rows or vim.fn.line("w0") == #rows then
          vim.cmd("normal! zb")
        end
      end)
    else
      local view = vim.tbl_extend("force", p.view, {
        lnum = at[p.key] or math.min(p.view.lnum, math.max(1, #rows)),
        topline = at[p.top] or p.view.topline,
      })
      vim.api.nvim_win_call(win, function()
        vim.fn.winrestview(view)
      end)
    end
  end
end

--- Writes rows over those that the view's buffer has.
---@param view { buf: integer, rows: agent_lsp.Row[] } rows: what was put last
---@param rows agent_lsp.Row[]
function M.put(view, rows)
  local buf, old = view.buf, view.rows
  local first, old_last, new_last = changed(old, rows)
  local before = places(buf, old)
  if old_last < first and new_last < first then
    view.rows = rows
    return
  end
  local lines = {}
  for i = first, new_last do
    lines[#lines + 1] = rows[i].text
  end
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_clear_namespace(buf, NS, first - 1, math.max(first, old_last))
  vim.api.nvim_buf_set_lines(buf, first - 1, #old == 0 and -1 or old_last, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
  view.rows = rows
  for i = first, new_last do
    for _, m in ipairs(rows[i].marks) do
      vim.api.nvim_buf_set_extmark(buf, NS, i - 1, m[1], {
        end_col = math.min(m[2], #rows[i].text),
        hl_group = m[3],
        conceal = m[4] and "" or nil,
        strict = false,
      })
    end
  end
  colour_code(buf, rows, first, new_last)
  restore(rows, before)
end

return M
