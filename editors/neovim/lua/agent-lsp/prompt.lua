--- The prompt: a buffer of any number of lines below the tree. A draft outlives
--- the editor; a message stays in the buffer until the server has it for good.
local client = require("agent-lsp.client")
local config = require("agent-lsp.config")
local glyphs = require("agent-lsp.glyphs")

local M = {}

local LINES_MAX = 12 -- that the window grows to
local HISTORY_MAX = 200

---@type integer? buffer
M.buf = nil
---@type agent_lsp.Attachment[] beside the next message
M.attachments = {}
local at_history = 0 -- 0: the draft; n: the n-th latest message
local draft = ""

---@return integer?
function M.win()
  if M.buf then
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      if vim.api.nvim_win_get_buf(win) == M.buf then
        return win
      end
    end
  end
end

---@return string
function M.text()
  return table.concat(vim.api.nvim_buf_get_lines(M.buf, 0, -1, false), "\n")
end

---@param s string
function M.set(s)
  local lines = vim.split(s, "\n", { plain = true })
  vim.api.nvim_buf_set_lines(M.buf, 0, -1, false, lines)
  local win = M.win()
  if win then
    vim.api.nvim_win_set_cursor(win, { #lines, #lines[#lines] })
  end
end

---@param root string
local function draft_file(root)
  return ("%s/agent-lsp/draft-%s"):format(vim.fn.stdpath("state"), vim.fn.sha256(root):sub(1, 16))
end

--- Keeps the draft on disk, for the next start of the editor.
function M.save_draft()
  local s = client.current
  if not (s and M.buf and vim.api.nvim_buf_is_valid(M.buf)) then
    return
  end
  local words = at_history == 0 and M.text() or draft
  local file = draft_file(s.root)
  if vim.trim(words) == "" then
    vim.uv.fs_unlink(file)
    return
  end
  vim.fn.mkdir(vim.fs.dirname(file), "p", tonumber("700", 8))
  local fd = vim.uv.fs_open(file, "w", tonumber("600", 8))
  if fd then
    vim.uv.fs_write(fd, words)
    vim.uv.fs_close(fd)
  end
end

local function load_draft()
  local s = client.current
  local fd = s and vim.uv.fs_open(draft_file(s.root), "r", 0)
  if fd then
    local stat = assert(vim.uv.fs_fstat(fd))
    M.set(vim.uv.fs_read(fd, stat.size) or "")
    vim.uv.fs_close(fd)
  end
end

--- What was sent in this session, the latest first.
---@param s agent_lsp.Session
---@return string[]
local function history(s)
  local out, seen = {}, {}
  local function add(words)
    if words ~= "" and not seen[words] and #out < HISTORY_MAX then
      seen[words] = true
      out[#out + 1] = words
    end
  end
  for i = #s.answers, 1, -1 do
    if not s.answers[i].after or s.answers[i].after == (s.model.cycles[#s.model.cycles] or {}).id then
      add(s.answers[i].input)
    end
  end
  for i = #s.model.cycles, 1, -1 do
    local c = s.model.cycles[i]
    for j = #c.steps, 1, -1 do
      if c.steps[j].type ~= "ai-block" then
        add(c.steps[j].text)
      end
    end
  end
  return out
end

---@param by integer 1 = older
local function browse(by)
  local s = client.current
  if not s then
    return
  end
  local list = history(s)
  local to = math.max(0, math.min(#list, at_history + by))
  if to == at_history then
    return
  end
  if at_history == 0 then
    draft = M.text()
  end
  at_history = to
  M.set(to == 0 and draft or list[to])
end

--- Sends what is in the prompt.
---@param delivery "auto"|"steer"|"followUp"
function M.send(delivery)
  local words = M.text()
  if vim.trim(words) == "" then
    return
  end
  local attachments = M.attachments
  require("agent-lsp").submit(words, {
    delivery = delivery,
    attachments = attachments,
    done = function(err)
      if err or not (M.buf and vim.api.nvim_buf_is_valid(M.buf)) then
        return -- what was typed stays where it was
      end
      if M.text() == words then
        M.set("")
        at_history, draft = 0, ""
      end
      if M.attachments == attachments then
        M.attachments = {}
      end
      M.save_draft()
      M.layout()
    end,
  })
end

--- Enter and its other: which is which while a run is going on.
local function deliveries()
  local s = client.current
  if not (s and s:active_cycle()) then
    return "auto", "auto"
  elseif config.values.enter == "followUp" then
    return "followUp", "steer"
  end
  return "steer", "followUp"
end

local NAMES = { auto = "send", steer = "steer", followUp = "follow-up" }

--- The line above the prompt: what the keys do now, and what goes along.
function M.title()
  local g = glyphs.set(config.values.ascii)
  local enter, other = deliveries()
  local words = { ("Enter %s"):format(NAMES[enter]) }
  if enter ~= other then
    words[#words + 1] = ("Alt+Enter %s"):format(NAMES[other])
  else
    words[#words + 1] = "/ @ # complete"
  end
  local left = ""
  for _, a in ipairs(M.attachments) do
    local path = vim.fn.fnamemodify(vim.uri_to_fname(a.uri), ":.")
    left = left .. ("%%#AgentLspPath#%s:%d-%d%%*  "):format(path:gsub("%%", "%%%%"), a.range.start.line + 1, a.range["end"].line)
  end
  return (" %s%%#AgentLspHint#%s%%*%%<"):format(left, table.concat(words, g.between))
end

--- As high as the text, within limits.
function M.layout()
  local win = M.win()
  if win then
    local lines = vim.api.nvim_buf_line_count(M.buf)
    local height = math.max(config.values.panel.prompt_height, math.min(lines, LINES_MAX))
    if vim.api.nvim_win_get_height(win) ~= height + 1 then -- the winbar takes a line
      vim.api.nvim_win_set_height(win, height + 1)
    end
  end
end

--- Asks the server for completions and shows them if nothing was typed since.
local function propose()
  local s = client.current
  if not s or vim.api.nvim_get_current_buf() ~= M.buf then
    return
  end
  local cursor = vim.api.nvim_win_get_cursor(0)
  local lines = vim.api.nvim_buf_get_lines(M.buf, 0, -1, false)
  local before = 0
  for i = 1, cursor[1] - 1 do
    before = before + #lines[i] + 1
  end
  local words = table.concat(lines, "\n")
  s.gate.request("agent/complete", s:ref({ text = words, offset = before + cursor[2] }), function(_, r)
    local now = vim.fn.mode() == "i" and vim.api.nvim_get_current_buf() == M.buf and vim.api.nvim_win_get_cursor(0)
    if not r or not now or now[1] ~= cursor[1] or now[2] ~= cursor[2] or M.text() ~= words or r.start < before then
      return
    end
    local items = {}
    for _, item in ipairs(r.items) do
      items[#items + 1] = { word = item.insert, abbr = item.label, menu = item.detail or "", kind = item.kind:sub(1, 1), dup = 1 }
    end
    if #items > 0 or vim.fn.pumvisible() == 1 then
      vim.fn.complete(r.start - before + 1, items)
    end
  end)
end

--- 'omnifunc' and 'completefunc': what the server proposes comes when it answers.
---@param findstart integer
function M.complete(findstart)
  if findstart == 1 then
    vim.schedule(propose)
    return -3
  end
  return {}
end

--- Offers completions while a word is written that one of their signs begins.
local function offer()
  local cursor = vim.api.nvim_win_get_cursor(0)
  local before = vim.api.nvim_get_current_line():sub(1, cursor[2])
  if before:match("^[@#]%S*$") or before:match("%s[@#]%S*$") or (cursor[1] == 1 and before:match("^/%S*$")) then
    propose()
  end
end

local function keys(buf)
  local k = config.values.keys
  local function map(modes, lhs, what, fn)
    if lhs then
      vim.keymap.set(modes, lhs, fn, { buffer = buf, nowait = true, desc = "agent-lsp: " .. what })
    end
  end
  map({ "n", "i" }, k.send, "send", function()
    if vim.fn.pumvisible() == 1 and vim.fn.complete_info({ "selected" }).selected >= 0 then
      vim.api.nvim_feedkeys(vim.keycode("<C-y>"), "n", false)
      return
    end
    local enter = deliveries()
    M.send(enter)
  end)
  map({ "n", "i" }, k.send_other, "send the other way", function()
    local _, other = deliveries()
    M.send(other)
  end)
  map("i", k.newline, "new line", function()
    vim.api.nvim_feedkeys(vim.keycode("<CR>"), "n", false)
  end)
  local function in_history(lhs, by)
    map({ "n", "i" }, lhs, by > 0 and "older message" or "newer message", function()
      if vim.fn.pumvisible() == 1 then
        vim.api.nvim_feedkeys(vim.keycode(lhs), "n", false)
      else
        browse(by)
      end
    end)
  end
  in_history(k.older, 1)
  in_history(k.newer, -1)
  map("n", "q", "close", function()
    require("agent-lsp.panel").close()
  end)
end

local function create()
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, "agent-lsp://prompt")
  vim.bo[buf].buftype = "nofile"
  vim.bo[buf].bufhidden = "hide"
  vim.bo[buf].swapfile = false
  vim.bo[buf].filetype = "agent-lsp-prompt"
  vim.bo[buf].completefunc = "v:lua.require'agent-lsp.prompt'.complete"
  vim.bo[buf].omnifunc = "v:lua.require'agent-lsp.prompt'.complete"
  M.buf = buf
  keys(buf)
  local group = vim.api.nvim_create_augroup("agent_lsp_prompt", {})
  local menu ---@type string? the person's own, while the prompt's holds
  vim.api.nvim_create_autocmd("InsertEnter", {
    group = group,
    buffer = buf,
    callback = function()
      menu = menu or vim.o.completeopt
      vim.o.completeopt = "menuone,noinsert,noselect" -- proposals come by themselves and must write nothing
    end,
  })
  vim.api.nvim_create_autocmd({ "InsertLeave", "BufLeave" }, {
    group = group,
    buffer = buf,
    callback = function()
      vim.o.completeopt, menu = menu or vim.o.completeopt, nil
    end,
  })
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    group = group,
    buffer = buf,
    callback = function(ev)
      M.layout()
      if ev.event ~= "TextChanged" then
        offer()
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "InsertLeave", "BufLeave" }, { group = group, buffer = buf, callback = M.save_draft })
  vim.api.nvim_create_autocmd("VimLeavePre", { group = group, callback = M.save_draft })
  load_draft()
end

--- Opens the prompt's window below the tree's.
---@param tree_win integer
function M.open(tree_win)
  if not (M.buf and vim.api.nvim_buf_is_valid(M.buf)) then
    create()
  end
  if M.win() then
    return
  end
  local win = vim.api.nvim_open_win(M.buf, false, {
    split = "below",
    win = tree_win,
    height = config.values.panel.prompt_height + 1,
  })
  require("agent-lsp.windows").plain_window(win)
  vim.wo[win].winfixheight = true
  vim.wo[win].winbar = "%{%v:lua.require'agent-lsp.prompt'.title()%}"
  M.layout()
end

--- Goes to the prompt, writing on.
---@param words string? put in first, unless something is written already
function M.focus(words)
  local win = M.win()
  if not win then
    require("agent-lsp.panel").open()
    win = assert(M.win())
  end
  vim.api.nvim_set_current_win(win)
  if words and vim.trim(M.text()) == "" then
    M.set(words)
  end
  vim.cmd("startinsert!")
end

function M.close()
  local win = M.win()
  if win then
    M.save_draft()
    if vim.api.nvim_get_current_win() == win then
      vim.cmd.stopinsert()
    end
    if #vim.api.nvim_tabpage_list_wins(0) > 1 then
      vim.api.nvim_win_close(win, true)
    end
  end
end

return M
