--- agent-lsp in Neovim: draws what the server says, sends what the person does.
---
---     require("agent-lsp").setup({})
---
--- See `:help agent-lsp`.
local M = {}

local started = false

--- Joins the parts together, once; commands do so too when setup was not called.
local function join()
  if started then
    return
  end
  started = true
  local session = require("agent-lsp.session")
  local panel = require("agent-lsp.panel")
  local permission = require("agent-lsp.permission")
  local review = require("agent-lsp.review")
  local queue = require("agent-lsp.queue")
  require("agent-lsp.highlights").setup()
  require("agent-lsp.inline").setup()
  permission.setup()
  local said = nil
  session.listeners[#session.listeners + 1] = function(s, what)
    panel.draw()
    if what == "hunks" then
      vim.schedule(function()
        review.changed(s)
      end)
    elseif what == "tree" then
      permission.refresh(s)
    elseif what == "cut off" then
      require("agent-lsp.client").say("a run was cut off when the agent's process ended; [r] in the panel or :AgentResume takes it up again", vim.log.levels.WARN)
    else
      local words = require("agent-lsp.status").line(s)
      if words ~= said then -- for status lines that are drawn on demand only
        if s.model.state == "idle" then
          queue.refresh(s)
        end
        said = words
        vim.schedule(function()
          vim.api.nvim_exec_autocmds("User", { pattern = "AgentLspStatus", modeline = false })
          vim.cmd.redrawstatus({ bang = true })
        end)
      end
    end
  end
  require("agent-lsp.client").setup()
end

--- Settings, all optional; see `:help agent-lsp-setup`.
---@param opts agent_lsp.Config?
function M.setup(opts)
  require("agent-lsp.config").set(opts)
  if started then
    require("agent-lsp.highlights").apply()
  end
  join()
end

--- The state for a status line of one's own.
---@return agent_lsp.Status
function M.status()
  return require("agent-lsp.status").of(started and require("agent-lsp.client").of() or nil)
end

--- A component for lualine or 'statusline': "agent ● 3/40 sonnet 12s".
---@return string
function M.statusline()
  return require("agent-lsp.status").line(started and require("agent-lsp.client").of() or nil)
end

---@return agent_lsp.Session?
local function session()
  join()
  return require("agent-lsp.client").get()
end

--- Where the person is looking: the file of this window, or of the last one.
---@return agent_lsp.Focus?
local function focus()
  local panel = require("agent-lsp.panel")
  local win = vim.api.nvim_get_current_win()
  if vim.bo.buftype ~= "" then
    win = vim.fn.win_getid(vim.fn.winnr("#"))
    if win == 0 or vim.bo[vim.api.nvim_win_get_buf(win)].buftype ~= "" then
      win = nil
      for _, w in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
        local b = vim.api.nvim_win_get_buf(w)
        if not win and vim.bo[b].buftype == "" and b ~= panel.buf then
          win = w
        end
      end
    end
  end
  local visible = {}
  for _, w in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local b = vim.api.nvim_win_get_buf(w)
    if vim.bo[b].buftype == "" and vim.api.nvim_buf_get_name(b) ~= "" then
      visible[#visible + 1] = vim.uri_from_bufnr(b)
    end
  end
  if not win or vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)) == "" then
    return #visible > 0 and { visible = visible } or nil
  end
  local line = vim.api.nvim_win_get_cursor(win)[1] - 1
  return {
    uri = vim.uri_from_bufnr(vim.api.nvim_win_get_buf(win)),
    range = { start = { line = line, character = 0 }, ["end"] = { line = line, character = 0 } },
    visible = visible,
  }
end

---@class agent_lsp.SubmitOptions
---@field delivery? "auto"|"steer"|"followUp"
---@field attachments? agent_lsp.Attachment[]
---@field done? fun(err: table?)

--- Sends a message.
---@param input string
---@param opts agent_lsp.SubmitOptions?
function M.submit(input, opts)
  opts = opts or {}
  local client = require("agent-lsp.client")
  local s = session()
  if not s then
    if opts.done then
      opts.done({ message = "the server doesn't run" })
    end
    return
  end
  local params = s:ref({
    input = input,
    delivery = opts.delivery or "auto",
    attachments = opts.attachments and #opts.attachments > 0 and opts.attachments or nil,
    focus = focus(),
    source = "neovim",
    clientRequestId = require("agent-lsp.control").uuid(),
  })
  s.gate.request("agent/submit", params, function(err, r)
    if err then
      client.say(client.explain(err), vim.log.levels.WARN)
    else
      local last = s.model.cycles[#s.model.cycles]
      if r.response then
        s.answers[#s.answers + 1] = { after = last and last.id, input = input, content = r.response.content, ok = r.response.success }
        s:tell("tree")
        s:refresh_status()
      end
      if s.id ~= r.sessionId then
        s.answers = s.id and {} or s.answers
        s:load({ sessionId = r.sessionId })
      elseif r.response and s.branch and s.branch ~= r.branchId then -- a command switched the branch
        s:load({ sessionId = r.sessionId, branchId = r.branchId })
      end
    end
    if opts.done then
      opts.done(err)
    end
  end)
end

--- The lines of a range as something to send along.
---@param first integer 1-based
---@param last integer
---@return agent_lsp.Attachment
local function selection(first, last)
  return {
    uri = vim.uri_from_bufnr(0),
    kind = "selection",
    range = { start = { line = first - 1, character = 0 }, ["end"] = { line = last, character = 0 } },
  }
end

--- :Agent
---@param input string
---@param range { [1]: integer, [2]: integer }? lines to send along
function M.ask(input, range)
  local s = session()
  if not s then
    return
  end
  local attachments = range and vim.bo.buftype == "" and { selection(range[1], range[2]) } or {}
  local panel = require("agent-lsp.panel")
  if vim.trim(input) == "" then
    panel.open()
    require("agent-lsp.prompt").attachments = attachments
    panel.open(true)
    return
  end
  M.submit(input, { attachments = attachments })
  panel.open()
end

function M.toggle()
  join()
  require("agent-lsp.panel").toggle()
end

--- Accepts or rejects the hunk under the cursor, or those that opts name.
---@param decision "accept"|"reject"
---@param opts agent_lsp.ResolveOptions?
function M.resolve(decision, opts)
  join()
  require("agent-lsp.review").resolve(decision, opts)
end

---@param step 1|-1
function M.go(step)
  join()
  require("agent-lsp.review").go(step)
end

function M.review()
  join()
  require("agent-lsp.review_list").open()
end

function M.hunk()
  join()
  require("agent-lsp.review").texts()
end

---@param command "pause"|"resume"|"cancel"|"escalate"
---@param payload table?
---@param run string?
local function control(command, payload, run)
  local s = session()
  if s then
    require("agent-lsp.control").request(s, command, payload, nil, run)
  end
end

function M.pause()
  control("pause")
end

--- Lets a paused run go on, or takes one up that a crash cut off.
---@param run string? its id; the one that waits if not said
function M.resume(run)
  control("resume", nil, run)
end

function M.cancel()
  control("cancel")
end

--- Carries the proposed workflow of a turn out.
---@param turn string? its id; the branch's latest turn if not said
function M.approve(turn)
  local s = session()
  if not s then
    return
  end
  s.gate.request("agent/workflow/approve", s:ref({ turnId = turn }), function(err)
    if err then
      local client = require("agent-lsp.client")
      client.say(client.explain(err), vim.log.levels.WARN)
    end
  end)
end

--- Gives the run another model from its next call on.
---@param name string?
---@param reason string?
function M.escalate(name, reason)
  local s = session()
  if not s then
    return
  elseif name and name ~= "" then
    control("escalate", { model = name, reason = reason ~= "" and reason or nil })
  else
    require("agent-lsp.browse").pick_model(s, "Escalate to", function(chosen)
      control("escalate", { model = chosen })
    end)
  end
end

function M.context()
  join()
  require("agent-lsp.context").open()
end

function M.trace()
  join()
  require("agent-lsp.browse").trace()
end

function M.sessions()
  join()
  require("agent-lsp.browse").sessions()
end

---@param verb ""|"fork"|"switch"|"adopt"|"compare"
---@param name string?
function M.branches(verb, name)
  join()
  require("agent-lsp.branches").open(verb, name)
end

---@param what string
function M.undo_turn(what)
  join()
  require("agent-lsp.restore").undo_turn(what)
end

function M.undo_reject()
  join()
  require("agent-lsp.review").undo_reject()
end

---@param name string?
function M.model(name)
  join()
  require("agent-lsp.browse").model(name)
end

return M
