--- The server's life: found, started, attached to a project's files, started
--- again after a crash. All that goes to it and comes from it passes here.
local config = require("agent-lsp.config")
local session = require("agent-lsp.session")

local M = {}

local RESTARTS_MAX = 3 -- within RESTART_WINDOW_MS; then the person decides
local RESTART_WINDOW_MS = 60000
local RESTART_DELAY_MS = 300
local SAID_MAX = 20
local CHANGES_DELAY_MS = 40 -- typing is sent to the server after this silence

---@type string[] the latest that the person was told
M.said = {}
---@type table<string, agent_lsp.Session> by root
M.sessions = {}
---@type agent_lsp.Session? the one that commands without a file mean
M.current = nil
---@type table<string, number[]> times of crashes by root
local crashes = {}

--- Tells the person in words. Where Neovim itself shows them, in its last row, what
--- is too long for it is cut: it would stop the editor for a key, and all that comes
--- from the server with it. :checkhealth has the whole.
---@param message string
---@param level integer?
function M.say(message, level)
  vim.schedule(function()
    local words = "agent-lsp: " .. message
    M.said[#M.said + 1] = message
    if #M.said > SAID_MAX then
      table.remove(M.said, 1)
    end
    local source = debug.getinfo(vim.notify, "S").source
    local neovims = source:match("^=?%?$") or source:match("^@vim/_") -- nobody has put another in its place
    if not neovims or vim.fn.strdisplaywidth(words) <= vim.v.echospace then
      vim.notify(words, level or vim.log.levels.INFO)
    else
      local text = require("agent-lsp.text")
      local cut = text.cut(text.first_line(words), vim.v.echospace, "…")
      vim.api.nvim_echo({ { cut, (level or 0) >= vim.log.levels.WARN and "WarningMsg" or nil } }, true, {})
    end
  end)
end

--- What an error says, with what to do.
---@param err table
function M.explain(err)
  local hint = type(err.data) == "table" and err.data.hint or ""
  return (err.message or "failed") .. (hint and hint ~= "" and " – " .. hint or "")
end

---@param client vim.lsp.Client
local function lsp_request(client, method, params, done)
  if vim.fn.has("nvim-0.11") == 1 then
    return client:request(method, params, done)
  end
  return client.request(method, params, done) ---@diagnostic disable-line
end

---@param client vim.lsp.Client
local function lsp_notify(client, method, params)
  if vim.fn.has("nvim-0.11") == 1 then
    return client:notify(method, params)
  end
  return client.notify(method, params) ---@diagnostic disable-line
end

---@param s agent_lsp.Session
---@return vim.lsp.Client?
function M.lsp(s)
  return s.client_id and vim.lsp.get_client_by_id(s.client_id) or nil
end

--- Without the nulls of JSON: what is absent is nil.
local function plain(v)
  if type(v) ~= "table" then
    return v ~= vim.NIL and v or nil
  end
  for k, x in pairs(v) do
    if x == vim.NIL then
      v[k] = nil
    elseif type(x) == "table" then
      plain(x)
    end
  end
  return v
end

---@param s agent_lsp.Session
---@return agent_lsp.Gate
local function gate_to(s)
  return {
    request = function(method, params, done)
      local client = M.lsp(s)
      if not client or not lsp_request(client, method, params, function(err, result)
        done(plain(err), plain(result))
      end) then
        vim.schedule(function()
          done({ message = "the server doesn't run", data = { hint = ":checkhealth agent-lsp" } })
        end)
      end
    end,
    notify = function(method, params)
      local client = M.lsp(s)
      if client then
        lsp_notify(client, method, params)
      end
    end,
  }
end

--- A handler on the session that a message is for.
---@param fn fun(s: agent_lsp.Session, params: any): any, any
local function on(fn)
  return function(err, params, ctx)
    for _, s in pairs(M.sessions) do
      if s.client_id == ctx.client_id then
        if err then
          return nil, err
        end
        return fn(s, plain(params))
      end
    end
    return vim.NIL
  end
end

local function handlers()
  local function notification(method)
    return on(function(s, params)
      s[method](s, params)
    end)
  end
  return {
    ["agent/cycle"] = notification("on_cycle"),
    ["agent/stream"] = notification("on_stream"),
    ["agent/edits/changed"] = notification("on_edits"),
    ["agent/index"] = notification("on_index"),
    ["loop:current"] = notification("on_loop"),
    ["loop:control"] = on(function(s, params)
      require("agent-lsp.control").answered(s, params)
    end),
    ["agent/permission"] = on(function(s, params)
      return require("agent-lsp.permission").ask(s, params)
    end),
    ["agent/editor"] = on(function(_, params)
      return require("agent-lsp.editor").answer(params)
    end),
    ["workspace/applyEdit"] = function(err, params, ctx)
      return require("agent-lsp.apply").edit(err, params, ctx)
    end,
  }
end

---@param name string
---@return boolean
local function is_file(bufnr, name)
  return vim.bo[bufnr].buftype == "" and name ~= "" and not name:match("^%a[%w+.-]+://")
end

---@param bufnr integer
---@return string root
function M.root_of(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  local cwd = assert(vim.uv.cwd())
  local from = is_file(bufnr, name) and vim.fs.dirname(name) or cwd
  local found
  for _, markers in ipairs(config.values.root_markers) do
    found = found or vim.fs.root(from, markers)
  end
  if not found then
    found = vim.startswith(from .. "/", cwd .. "/") and cwd or from
  end
  return vim.uv.fs_realpath(found) or found
end

--- Whether a buffer's file belongs to a session, and is attached if so.
---@param s agent_lsp.Session
---@param bufnr integer
local function attach(s, bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  if
    not s.client_id
    or not vim.api.nvim_buf_is_loaded(bufnr)
    or not is_file(bufnr, name)
    or vim.lsp.buf_is_attached(bufnr, s.client_id)
  then
    return
  end
  local real = vim.uv.fs_realpath(name) or name
  if vim.startswith(name, s.root .. "/") or vim.startswith(real, s.root .. "/") then
    vim.lsp.buf_attach_client(bufnr, s.client_id)
  end
end

---@param s agent_lsp.Session
local function attach_all(s)
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    attach(s, bufnr)
  end
end

local start

---@param s agent_lsp.Session
local function ended(s, code, signal)
  s.client_id, s.ready, s.run = nil, false, nil
  s:set_hunks({})
  s:tell("status")
  if vim.v.exiting ~= vim.NIL or s.stopping then
    return
  end
  local now = vim.uv.now()
  local recent = vim.tbl_filter(function(at)
    return now - at < RESTART_WINDOW_MS
  end, crashes[s.root] or {})
  recent[#recent + 1] = now
  crashes[s.root] = recent
  if #recent > RESTARTS_MAX then
    s.down = true
    s:tell("status")
    M.say(("the server ended %d times within a minute (exit %d, signal %d); :AgentToggle starts it again, :checkhealth agent-lsp says more"):format(#recent, code, signal), vim.log.levels.ERROR)
    return
  end
  M.say(("the server ended (exit %d, signal %d) and is started again; nothing is lost"):format(code, signal), vim.log.levels.WARN)
  vim.defer_fn(function()
    start(s)
  end, RESTART_DELAY_MS)
end

---@param s agent_lsp.Session
---@return boolean started
function start(s)
  local cmd, from = config.command()
  if not cmd then
    M.say(
      ("there is no program agent-lsp (looked in %s). Build it with `go build -o bin/agent-lsp ./cmd/agent-lsp` and put it on PATH, or name it by setup{cmd = …}"):format(from),
      vim.log.levels.ERROR
    )
    return false
  end
  local settings = vim.tbl_extend("keep", { model = config.values.model }, config.values.settings)
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  -- one unit for positions with the language servers whose answers are passed on
  capabilities.general = vim.tbl_extend("force", capabilities.general or {}, { positionEncodings = { "utf-16" } })
  local options = {
    name = "agent-lsp",
    cmd = function(dispatchers)
      -- how it ended is told once, by us: Neovim's own words would stop the editor for a key
      local tell = dispatchers.on_exit
      dispatchers.on_exit = function(code, signal)
        s.ended = { code, signal }
        tell(0, 0)
      end
      return vim.lsp.rpc.start(cmd, dispatchers, { cwd = s.root })
    end,
    root_dir = s.root,
    workspace_folders = { { uri = vim.uri_from_fname(s.root), name = vim.fs.basename(s.root) } },
    capabilities = capabilities,
    offset_encoding = "utf-16",
    flags = { debounce_text_changes = CHANGES_DELAY_MS },
    handlers = handlers(),
    settings = { agentLsp = settings },
    init_options = {
      agentLsp = {
        client = "neovim",
        protocolVersion = require("agent-lsp.protocol").version,
        permission = true,
        cycles = true,
        editorOps = require("agent-lsp.editor").ops,
      },
      settings = next(settings) and settings or vim.empty_dict(),
    },
    on_error = function(code, err)
      M.say(("%s: %s"):format(vim.lsp.rpc.client_errors[code] or code, vim.inspect(err)), vim.log.levels.ERROR)
    end,
    on_exit = function()
      local code, signal = unpack(s.ended)
      vim.schedule(function()
        ended(s, code, signal)
      end)
    end,
    on_init = function()
      vim.schedule(function()
        attach_all(s)
        s:load()
      end)
    end,
  }
  local id
  if vim.fn.has("nvim-0.11") == 1 then
    id = vim.lsp.start(options, { attach = false, reuse_client = function()
      return false
    end })
  else
    id = vim.lsp.start_client(options) ---@diagnostic disable-line: deprecated
  end
  if not id then
    M.say("the server could not be started; :checkhealth agent-lsp", vim.log.levels.ERROR)
    return false
  end
  s.client_id, s.down = id, nil
  s:tell("status")
  return true
end

--- The session of a project, started if need be.
---@param root string
---@return agent_lsp.Session?
function M.ensure(root)
  local s = M.sessions[root]
  if not s then
    s = session.new(root, nil)
    s.gate = gate_to(s)
    M.sessions[root] = s
  end
  if not s.client_id then
    if not start(s) then
      M.sessions[root] = nil
      return nil
    end
  end
  M.current = s
  return s
end

--- The session that a buffer's commands are for; panels have that of the last file.
---@param bufnr integer?
---@return agent_lsp.Session?
function M.of(bufnr)
  bufnr = bufnr or vim.api.nvim_get_current_buf()
  for _, s in pairs(M.sessions) do
    if s.client_id and vim.lsp.buf_is_attached(bufnr, s.client_id) then
      return s
    end
  end
  return M.current
end

--- Like of, and starts a server if none is there.
---@return agent_lsp.Session?
function M.get()
  local bufnr = vim.api.nvim_get_current_buf()
  if vim.bo[bufnr].buftype ~= "" and M.current then
    return M.ensure(M.current.root)
  end
  local s = M.of(bufnr)
  if s and s.client_id and (vim.lsp.buf_is_attached(bufnr, s.client_id) or vim.bo[bufnr].buftype ~= "") then
    M.current = s
    return s
  end
  return M.ensure(M.root_of(bufnr))
end

--- Attaches a buffer to its project's server, which is started if it may be.
---@param bufnr integer
function M.opened(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  if not is_file(bufnr, name) then
    return
  end
  local root = M.root_of(bufnr)
  local s = M.sessions[root]
  if s and s.client_id then
    attach(s, bufnr)
  elseif config.values.autostart and config.command() then
    M.ensure(root)
  end
end

function M.setup()
  local group = vim.api.nvim_create_augroup("agent_lsp_client", {})
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost" }, {
    group = group,
    callback = function(ev)
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(ev.buf) then
          M.opened(ev.buf)
        end
      end)
    end,
  })
  vim.api.nvim_create_autocmd("BufEnter", {
    group = group,
    callback = function(ev)
      for _, s in pairs(M.sessions) do
        if s ~= M.current and s.client_id and vim.lsp.buf_is_attached(ev.buf, s.client_id) then
          M.current = s
          s:tell("tree")
          s:tell("status")
        end
      end
    end,
  })
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = group,
    callback = function()
      for _, s in pairs(M.sessions) do
        s.stopping = true
      end
    end,
  })
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) then
      M.opened(bufnr)
    end
  end
end

return M
