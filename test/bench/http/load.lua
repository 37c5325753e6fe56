-- The load for wrk: sends the requests of a file in order, and prints the counts as one line of JSON.
-- Arguments after `--`: the file (whole HTTP requests, each followed by a NUL), and the index of the first one to send.

local requests = {}
local position = 0

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  for request in file:read('*a'):gmatch('%Z+') do requests[#requests + 1] = request end
  file:close()
  position = tonumber(args[2]) % #requests
end

function request()
  position = position % #requests + 1
  return requests[position]
end

function done(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(
    string.format(
      'load {"answers":%d,"failed":%d,"bytes":%.0f,"micros":%.0f}\n',
      summary.requests, failed, summary.bytes, summary.duration))
end
