-- The load for wrk: sends the requests of a file in turn, and prints what was counted as one line of JSON.
-- Arguments after `--`: the file (whole HTTP requests with a NUL behind each), which of them to begin with, and, for a
-- load of a fixed rate, requests a second.

local ffi = require('ffi')
ffi.cdef('typedef struct { long s; long us; } timeval; int gettimeofday(timeval *, void *);')

local requests = {}
local position = 0
local rate
local clock = ffi.new('timeval')
local due

local function now_ms()
  ffi.C.gettimeofday(clock, nil)
  return tonumber(clock.s) * 1000 + tonumber(clock.us) / 1000
end

function init(args)
  local file = assert(io.open(args[1], 'rb'))
  for request in file:read('*a'):gmatch('%Z+') do requests[#requests + 1] = request end
  file:close()
  position = tonumber(args[2]) % #requests
  rate = tonumber(args[3])
  math.randomseed(4)
end

function request()
  position = position % #requests + 1
  return requests[position]
end

-- Arrivals are those of many clients that know nothing of one another (a Poisson process): each connection that is free
-- takes the next one. What a slow answer holds up is sent as soon as a connection is free again.
local function paced_delay()
  local now = now_ms()
  due = (due or now) - math.log(1 - math.random()) * 1000 / rate
  -- wrk waits whole milliseconds: rounded up or down so that they are right in the mean.
  return math.max(0, math.floor(due - now + math.random()))
end

-- wrk looks for this function before it calls init; a load that has it pays for it.
if os.getenv('BENCH_PACED') then delay = paced_delay end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(
    string.format(
      'load {"answers":%d,"failed":%d,"bytes":%.0f,"micros":%.0f,"p50":%.0f,"p99":%.0f,"p999":%.0f,"max":%.0f}\n',
      summary.requests, failed, summary.bytes, summary.duration,
      latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
