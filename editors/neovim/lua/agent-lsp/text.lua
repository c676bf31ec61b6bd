--- Numbers and rows of text as every view shows them. Pure.
local M = {}

local RIGHT_SHARE = 0.6 -- of a row that its right side may take

--- "0.1 s", "12.4 s", "3 min 5 s".
---@param ms number
---@return string
function M.duration(ms)
  if ms < 60000 then
    return ("%.1f s"):format(math.floor(ms / 100) / 10)
  end
  local s = math.floor(ms / 1000)
  if s < 3600 then
    return ("%d min %d s"):format(math.floor(s / 60), s % 60)
  end
  return ("%d h %d min"):format(math.floor(s / 3600), math.floor(s / 60) % 60)
end

--- Like duration, but short enough for a status line: "12s", "3m5s".
---@param ms number
function M.short_duration(ms)
  local s = math.floor(ms / 1000)
  return s < 60 and ("%ds"):format(s) or ("%dm%02ds"):format(math.floor(s / 60), s % 60)
end

--- "612", "6.1k", "1.2M".
---@param n number
function M.tokens(n)
  if n < 1000 then
    return ("%d"):format(n)
  elseif n < 999950 then
    return ("%.1fk"):format(n / 1000)
  end
  return ("%.1fM"):format(n / 1e6)
end

--- A whole number with a separator between thousands.
---@param n number
---@param separator string
function M.thousands(n, separator)
  local digits = ("%d"):format(n)
  local head = #digits % 3
  local parts = {}
  if head > 0 then
    parts[1] = digits:sub(1, head)
  end
  for i = head + 1, #digits, 3 do
    parts[#parts + 1] = digits:sub(i, i + 2)
  end
  return table.concat(parts, separator)
end

--- "$0.04"; "" where nothing was charged.
---@param usd number
function M.cost(usd)
  if usd <= 0 then
    return ""
  end
  return usd < 0.005 and "<$0.01" or ("$%.2f"):format(usd)
end

---@param n number
---@param word string
function M.count(n, word)
  return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

--- Milliseconds since 1970 of an RFC 3339 time, or nil.
---@param stamp string?
---@return number?
function M.epoch_ms(stamp)
  local y, mo, d, h, mi, s, rest = (stamp or ""):match("^(%d+)-(%d+)-(%d+)[Tt](%d+):(%d+):(%d+)(.*)$")
  if not y then
    return nil
  end
  y, mo, d = tonumber(y), tonumber(mo), tonumber(d)
  local fraction = tonumber(rest:match("^(%.%d+)") or "0") or 0
  local sign, oh, om = rest:match("([+-])(%d%d):(%d%d)$")
  local offset = sign and (tonumber(oh) * 60 + tonumber(om)) * (sign == "-" and -1 or 1) or 0
  local yy = mo <= 2 and y - 1 or y -- days since 1970 by the civil calendar
  local era = math.floor(yy / 400)
  local yoe = yy - era * 400
  local doy = math.floor((153 * (mo + (mo > 2 and -3 or 9)) + 2) / 5) + d - 1
  local days = era * 146097 + yoe * 365 + math.floor(yoe / 4) - math.floor(yoe / 100) + doy - 719468
  local seconds = days * 86400 + tonumber(h) * 3600 + tonumber(mi) * 60 + tonumber(s) - offset * 60
  return (seconds + fraction) * 1000
end

---@param s string
---@return string[]
function M.lines(s)
  return vim.split((s:gsub("\r\n?", "\n")), "\n", { plain = true })
end

--- Text that is safe and even to draw: no control characters, none that turn
--- the direction of writing, tabs as blanks.
---@param s string
---@return string
function M.clean(s)
  s = s:gsub("\t", "  "):gsub("[%z\1-\8\11-\31\127]", "\u{fffd}")
  return (s:gsub("\226\128[\170-\174]", "\u{fffd}"):gsub("\226\129[\166-\169]", "\u{fffd}"))
end

--- The first line that says something, and how many more there are.
---@param s string
---@return string line, integer more
function M.first_line(s)
  local lines = M.lines(vim.trim(s))
  return M.clean(lines[1] or ""), math.max(0, #lines - 1)
end

M.width = vim.api.nvim_strwidth

--- Cuts s to at most columns cells.
---@param s string
---@param columns integer
---@param mark string what stands for the rest
---@return string
function M.cut(s, columns, mark)
  if M.width(s) <= columns then
    return s
  end
  local room = columns - M.width(mark)
  if room <= 0 then
    return ""
  end
  local chars = vim.fn.strchars(s)
  local lo, hi = 0, chars -- the longest prefix that fits
  while lo < hi do
    local mid = math.ceil((lo + hi) / 2)
    if M.width(vim.fn.strcharpart(s, 0, mid)) <= room then
      lo = mid
    else
      hi = mid - 1
    end
  end
  return vim.fn.strcharpart(s, 0, lo):gsub("%s+$", "") .. mark
end

---@param s string
---@param columns integer
function M.pad(s, columns)
  return s .. (" "):rep(math.max(0, columns - M.width(s)))
end

---@param s string
---@param columns integer
function M.pad_left(s, columns)
  return (" "):rep(math.max(0, columns - M.width(s))) .. s
end

--- Tabs as blanks, by tab stops.
---@param s string
---@param tabstop integer
---@return string
function M.expand_tabs(s, tabstop)
  if not s:find("\t", 1, true) then
    return s
  end
  local out, column = {}, 0
  for piece, tab in s:gmatch("([^\t]*)(\t?)") do
    out[#out + 1] = piece
    column = column + M.width(piece)
    if tab ~= "" then
      local n = tabstop - column % tabstop
      out[#out + 1] = (" "):rep(n)
      column = column + n
    end
  end
  return table.concat(out)
end

--- One piece of a row: text and its highlight group.
---@alias agent_lsp.Piece { [1]: string, [2]: string? }

--- A row of pieces, with others at the right edge. What doesn't fit is cut from
--- the end of the left side.
---@param left agent_lsp.Piece[]
---@param right agent_lsp.Piece[]?
---@param width integer
---@param mark string
---@return string text, table[] marks of {start, end, group} in bytes
function M.row(left, right, width, mark)
  local tail, kept = 0, {}
  local most = math.floor(width * RIGHT_SHARE) -- on a narrow screen both sides say something
  for _, p in ipairs(right or {}) do
    local fits = M.cut(p[1], math.max(0, most - tail), mark)
    kept[#kept + 1] = { fits, p[2] }
    tail = tail + M.width(fits)
    if fits ~= p[1] then
      break
    end
  end
  right = kept
  local room = width - (tail > 0 and tail + 2 or 0)
  local text, marks, used = {}, {}, 0
  local bytes = 0
  local function add(piece)
    if piece[1] == "" then
      return
    end
    if piece[2] then
      marks[#marks + 1] = { bytes, bytes + #piece[1], piece[2] }
    end
    text[#text + 1] = piece[1]
    bytes = bytes + #piece[1]
  end
  for _, p in ipairs(left) do
    local fits = M.cut(p[1], math.max(0, room - used), mark)
    add({ fits, p[2] })
    used = used + M.width(fits)
    if fits ~= p[1] then
      break
    end
  end
  if tail > 0 then
    add({ (" "):rep(math.max(2, width - tail - used)) })
    for _, p in ipairs(right) do
      add(p)
    end
  end
  return (table.concat(text):gsub("%s+$", "")), marks
end

return M
