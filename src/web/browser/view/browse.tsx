import { render } from 'preact';
import { ConnectionStatus } from './connection-status.tsx';
import { connectionOf } from './page-connection.ts';

const root = document.querySelector<HTMLElement>('#view')!;
const connection = connectionOf(root);
render(<ConnectionStatus connection={connection} />, root);
void connection.connect();
