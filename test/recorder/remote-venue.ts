import type { Venue } from './venue-socket.ts';

/** A venue, a proxy or `bookreel replay` at an HTTP base. */
export function remoteVenue(url: string): Venue {
  return {
    connect: ({ onOpen, onText, onEnd }) => {
      const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws/market`);
      let isClosed = false;
      socket.onopen = onOpen;
      socket.onmessage = ({ data }) => {
        if (!isClosed) onText(String(data));
      };
      socket.onclose = ({ code, reason }) => {
        if (!isClosed) onEnd(`${code} ${reason}`);
      };
      return {
        send: (text) => {
          if (socket.readyState === WebSocket.OPEN) socket.send(text);
        },
        close: () => {
          isClosed = true;
          socket.close();
        },
      };
    },
    answer: async (path, body) => {
      const answer = await fetch(`${url}${path}`, body === undefined ? {} : { method: 'POST', body });
      return { status: answer.status, text: await answer.text() };
    },
  };
}
